// extender/observe/foreign_gangs.h - which pods of other operators' gangs are there, and how far
// are they? A part of Plans, guarded by its lock.
//
// Such a pod has our schedulerName and the label of a scheduling.x-k8s.io PodGroup
// (kube/model/foreign_pod_group.h). docs/adr/2026-11-22-foreign-gangs.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "extender/decide/foreign_view.h"
#include "extender/observe/volumes.h"

namespace nervex::extender {

// Its scheduler is ours. Others' pods are none of our business.
bool is_of_our_scheduler(const kube::Pod& pod);
// "namespace/name" of its PodGroup, which need not exist; "": it is no pod of a foreign gang.
std::string foreign_gang_of(const kube::Pod& pod);

// A change of such a pod that can make a difference to its gang.
bool foreign_pod_matters(const PodPtr& before, const PodPtr& after);

// By gang: PodGroups and pods, each as last watched. A pod may be seen before its PodGroup. Not
// thread-safe. Cost of a change: log(gangs) + log(pods of the gang).
class ForeignGangs {
 public:
  void pod_changed(const PodPtr& before, const PodPtr& after);
  void group_changed(const ForeignGroupPtr& before, const ForeignGroupPtr& after);
  // The API server has no such kind: its CRD is not installed.
  void set_kind_missing(bool is_missing) { is_kind_missing_ = is_missing; }
  // Why the gang waits, as the planner of this process says; "": it does not know.
  void explain(const std::string& gang, std::string message);

  // From now on this pod is being bound; until it is seen bound or deleted, or forget().
  void assume(const std::string& gang, const std::string& pod_uid);
  void forget(const std::string& gang, const std::string& pod_uid);
  bool is_pending(const std::string& gang, const std::string& pod_uid) const;

  ForeignPodSeen seen(const std::string& gang) const;
  // Cost: pods of the gang that are not bound.
  ForeignHoldSeen hold(const std::string& gang) const;
  // Those that have a PodGroup, and pods or had some. Cost: gangs, and pods that are not bound.
  std::vector<ForeignGangSeen> all(const VolumeStores& volumes) const;
  // Pods that are not bound mount claims.
  bool uses_claims() const { return with_claims_ > 0; }

 private:
  struct Gang {
    ForeignGroupPtr group;
    std::map<std::string, PodPtr, std::less<>> pending;  // by UID; assumed ones, too
    std::set<std::string, std::less<>> assumed;          // of pending
    ForeignCounts counts;                                // of the others, but for `pending`
    kube::Resources bound_requests;
    std::string owner;  // of one of its pods
    std::string message;
    bool had_pods = false;
  };
  void add(const PodPtr& pod);
  void remove(const kube::Pod& pod);
  void drop_if_empty(const std::string& key);
  static ForeignCounts counts_of(const Gang& gang);

  std::map<std::string, Gang, std::less<>> gangs_;
  std::size_t with_claims_ = 0;
  bool is_kind_missing_ = false;
};

}  // namespace nervex::extender
