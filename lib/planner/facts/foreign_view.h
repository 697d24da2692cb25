// planner/facts/foreign_view.h - what is known of other operators' gangs? Values, copied
// out of the cluster cache.
//
// A pod of our scheduler without a gang, a plain pod, is such a gang of one while it waits:
// ForeignPodGroup::is_pod.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gang/objects.h"
#include "kube/model/json.h"
#include "kube/model/objects.h"
#include "kube/model/resources.h"

namespace nervex::planner {

// Counts of the gang's pods with our schedulerName.
struct ForeignCounts {
  std::int64_t pending = 0;  // not bound, without scheduling gates, not being deleted
  std::int64_t bound = 0;    // bound or being bound, not finished, not being deleted
  std::int64_t running = 0;  // by phase
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;

  // Counts towards minMember. Finished pods count while another pod of the gang runs: those of an
  // earlier run of the whole gang do not.
  std::int64_t started() const { return bound > 0 ? bound + succeeded + failed : 0; }
  std::int64_t needed(std::int64_t min_member) const {  // of the pending ones, to start the gang
    return started() >= min_member ? 0 : min_member - started();
  }
};

// "namespace/name" of the PodGroup; "namespace/pod/UID" of a plain pod: no PodGroup has such a
// name.
std::string foreign_key(const kube::ForeignPodGroup& group);
std::string plain_key(const kube::Meta& pod);

// The name of a gang in messages: "podgroup train", "pod web-0".
std::string describe_foreign(const kube::ForeignPodGroup& group);
// The name of the gang of this pod; its PodGroup may not exist.
std::string describe_foreign_of(const kube::Meta& pod);

// What filter needs to know about a pod's gang.
struct ForeignPodSeen {
  std::string gang;              // describe_foreign_of()
  bool is_found = false;         // its PodGroup exists; or it is a plain pod
  bool is_kind_missing = false;  // the PodGroup kind is not installed
  std::int64_t min_member = 0;
  ForeignCounts counts;
  std::string message;  // why it waits, if this process runs the planner
};

// What the bind calls of a gang wait for.
struct ForeignHoldSeen {
  kube::ForeignGroupPtr group;  // null: not found
  std::int64_t needed = 0;      // pods that have to be bound together
  // Unbound pods with a node to be bound to: node by pod UID.
  std::map<std::string, std::string> nominated;
};

struct ForeignPod {
  kube::PodPtr pod;     // has `detail`
  Json volume_terms{};  // from its bound volumes: NodeConstraints::volume_terms
};

// A gang to plan.
struct ForeignGangSeen {
  kube::ForeignGroupPtr group;
  std::vector<ForeignPod> pending;  // those counted as pending
  ForeignCounts counts;
  kube::Resources bound_requests;   // of pods that are bound or being bound
  kube::Resources ending_requests;  // of pods that are being deleted and occupy their nodes
  std::map<std::string, kube::Resources> used_on;  // both of them by node
  std::string owner;  // "namespace/name" of the owner of one of its pods
  // minMember when this process, leader or not, last saw the gang whole: kubelets ran all its bound
  // pods, at least minMember. 0: it has not.
  std::int64_t whole_with = 0;
  // Requests that its bound pods had then and do not have now.
  kube::Resources lost_requests;

  std::string key() const { return foreign_key(*group); }
};

}  // namespace nervex::planner
