// extender/decide/foreign_view.h - what is known of a gang of another operator? Values, copied out
// of Plans.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/model/foreign_pod_group.h"
#include "kube/model/json.h"
#include "kube/model/pod.h"

namespace nervex::extender {

using PodPtr = std::shared_ptr<const kube::Pod>;
using ForeignGroupPtr = std::shared_ptr<const kube::ForeignPodGroup>;

// Of the gang's pods with our schedulerName.
struct ForeignCounts {
  std::int64_t pending = 0;  // not bound, without scheduling gates, not being deleted
  std::int64_t bound = 0;    // bound or being bound, not finished, not being deleted
  std::int64_t running = 0;  // by phase
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;

  // Towards minMember. Pods that have finished count while another one of the gang runs: those of
  // an earlier run of all of them do not.
  std::int64_t started() const { return bound > 0 ? bound + succeeded + failed : 0; }
  std::int64_t needed(std::int64_t min_member) const {  // of the pending ones, to start whole
    return started() >= min_member ? 0 : min_member - started();
  }
};

// What filter is asked for of the gang of a pod.
struct ForeignPodSeen {
  std::string name;              // of the PodGroup
  bool is_found = false;         // there is that PodGroup
  bool is_kind_missing = false;  // there are no such PodGroups at all
  std::int64_t min_member = 0;
  ForeignCounts counts;
  std::string message;  // why it waits, where the planner runs in this process
};

// What the bind calls of a gang wait for.
struct ForeignHoldSeen {
  ForeignGroupPtr group;    // null: it was not found
  std::int64_t needed = 0;  // pods that have to be bound together
  // Pods that are not bound and are to be, with their nodes. By UID.
  std::map<std::string, std::string> nominated;
};

struct ForeignPod {
  PodPtr pod;           // has `detail`
  Json volume_terms{};  // what its bound volumes demand: NodeConstraints::volume_terms
};

// A gang as it is planned.
struct ForeignGangSeen {
  ForeignGroupPtr group;
  std::vector<ForeignPod> pending;  // those that are counted as such
  ForeignCounts counts;
  kube::Resources bound_requests;  // of those that are bound or being bound
  std::string owner;               // "namespace/name" of the owner of one of its pods

  std::string key() const { return group->meta.key(); }
};

}  // namespace nervex::extender
