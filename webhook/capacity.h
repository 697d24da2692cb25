// webhook/capacity.h - could this job ever run on these nodes, if they were empty? Pure.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/sip_hash.h"
#include "kube/model/json.h"
#include "placement/cluster.h"

namespace nervex::webhook {

// Why the pods that a job needs at once (coordinator, and for each role the larger of replicas and
// reservedReplicas) can never run together. Uses the planner's code, and only facts that hold as
// long as the nodes keep their size: taints, cordons, labels, quotas and running pods prove
// nothing. nullopt: they could run, its roles have more than 1,000 node constraint values in all,
// or there are no nodes. kInvalid: the job is unreadable or huge. Many threads may ask about the
// same nodes; nothing of the job is kept.
struct NeverFits {
  std::string field;  // spec.learner.template
  std::string why;    // "can never fit: it needs nvidia.com/gpu 16; the largest ..."
  bool operator==(const NeverFits&) const = default;
};
Result<std::optional<NeverFits>> find_never_fitting(const Json& object,
                                                    const placement::Cluster& nodes);

// Jobs with equal hashes get the same answer from the same nodes, unless it is an error. Omits what
// jobs often differ by: their names, environment, images and commands. Cost: none for these.
Hash128 hash_needs(SipHash hash, const Json& object);

}  // namespace nervex::webhook
