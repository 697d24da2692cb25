// webhook/capacity.h - could this job ever run on these nodes, if they were empty? Pure.
#pragma once

#include <optional>
#include <string>

#include "kube/model/json.h"
#include "placement/cluster.h"

namespace nervex::webhook {

// Why the pods that a job needs at once (coordinator, and of each role replicas or
// reservedReplicas, whichever is more) can never run together: by the planner's own code, so only
// what no order of events changes while the nodes stay as large as they are. Taints, cordons,
// labels, quotas and what runs now prove nothing. nullopt: they could, the job cannot be read or is
// huge, its roles say which nodes they want with more than 1,000 values in all, or there is no node
// to judge by. Many threads may ask about the same nodes; nothing of the job is kept.
struct NeverFits {
  std::string field;  // spec.learner.template
  std::string why;    // "can never fit: it needs nvidia.com/gpu 16; the largest ..."
  bool operator==(const NeverFits&) const = default;
};
std::optional<NeverFits> find_never_fitting(const Json& object, const placement::Cluster& nodes);

}  // namespace nervex::webhook
