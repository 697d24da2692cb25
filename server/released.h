// server/released.h - which pods has the job let go already, though they still run? Pure.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "job/slots.h"
#include "job/types.h"
#include "kube/model/pod.h"
#include "server/listing.h"

namespace nervex::server {

// A client that was told that a replica is removed, or replaced, must not be told a moment later
// that it is there: it would connect again, and wait for a pod that is about to go. What the job,
// which may be older than the pods, does not know yet is not released; nor is anything while
// spec.requests is known to be lost (condition RequestsLost). Cost: units once, then a look-up.
class Released {
 public:
  explicit Released(const job::Job& job);
  // The pod's slot was removed, or is wanted in a later incarnation. False for what has no slot.
  bool has(const kube::Pod& pod) const;

 private:
  bool was_removed(job::Role role, int ordinal) const;

  const job::Job& job_;
  bool is_lost_ = false;
  std::map<std::pair<job::Role, int>, int> wanted_;  // incarnations by role and ordinal
};

// Those of the job's `pods` that it has not released.
std::vector<PodPtr> kept_pods(const job::Job& job, std::vector<PodPtr> pods);

}  // namespace nervex::server
