// queue/admission.h - may this workload start in its queue now, and on nodes of which class?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "queue/inadmissible.h"
#include "queue/tree.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::queue {

// How much of a resource one workload may request on nodes of a class. The class of a pod is known
// only when it has a node, so the planner obeys this: a class is closed if its cap is 0.
struct ClassCaps {
  struct Cap {
    std::string resource;
    std::string node_class;
    std::int64_t most = 0;
    bool operator==(const Cap&) const = default;
  };
  std::vector<Cap> caps;                 // sorted by resource, then class
  std::vector<std::string> only_capped;  // resources that other classes may not be used for, sorted

  bool empty() const { return caps.empty() && only_capped.empty(); }
  // nullopt: no cap. The empty class stands for nodes without one.
  std::optional<std::int64_t> find(std::string_view resource, std::string_view node_class) const;
  bool operator==(const ClassCaps&) const = default;
};

// The first limit on the path to the root that the workload would exceed. Limits of single classes
// are left to find_caps().
std::optional<LimitExceeded> find_exceeded_limit(const QueueTree& tree, const Usage& usage,
                                                 QueueIndex queue, const Workload& workload);
// No request is above its cap.
bool is_within(const ClassCaps& caps, const ClassRequests& requests);
// The workload, which has nodes, would exceed a limit: of all nodes, or of a class
// (Workload::class_requests).
bool exceeds_limit(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                   const Workload& workload);
// Why the workload cannot start in that queue now, even with free capacity: the queue's problem, or
// the limit that it would exceed.
std::optional<Inadmissible> find_inadmissible(const QueueTree& tree, const Usage& usage,
                                              QueueIndex queue, const Workload& workload);

// The workload certainly does not raise the queue above its quota, if it is placed within the caps
// of the quota. False if it requests nothing that the quota names, or is elastic.
bool fits_quota(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                const Workload& workload);
// The queue has quota left of something that the workload requests.
bool has_quota_left(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                    const Workload& workload);

// What the limits on the path to the root leave, and the quota of `guarantor`, one of the queues on
// it: a class that this quota does not name has cap 0, even if a limit names it. nullopt: the
// workload may exceed the quotas.
ClassCaps find_caps(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                    const Workload& workload, std::optional<QueueIndex> guarantor);

}  // namespace nervex::queue
