// extender/observe/parts/foreign_gangs.h - which pods of other operators' gangs exist, and in which
// state? A part of the cluster cache.
//
// Such a pod has our schedulerName and the label of a scheduling.x-k8s.io PodGroup
// (kube/model/foreign_pod_group.h). docs/adr/2026-11-22-foreign-gangs.md. A plain pod has no such
// label: while it waits it is a gang of one, and when it is bound it counts in OrphanedPods.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "extender/observe/parts/node_table.h"
#include "extender/observe/parts/volumes.h"
#include "planner/facts/foreign_view.h"

namespace nervex::extender {

// The pod's scheduler is ours; pods of other schedulers are ignored.
bool is_of_our_scheduler(const kube::Pod& pod);
// Our scheduler's, and no gang has it: it names no slot and no PodGroup.
bool is_plain(const kube::Pod& pod);
// A plain pod that is not bound and names a job as its owner: its marks were removed.
bool is_stray(const kube::Pod& pod);
// The key (foreign_key()) of its PodGroup, which may not exist, or of the plain pod itself while it
// waits to be planned. "": not a pod of a foreign gang; or a plain pod that is bound, finished,
// gated, being deleted, stray, or of a DaemonSet, which has chosen its node.
std::string foreign_gang_name(const kube::Pod& pod);

// Whether a change of such a pod can affect its gang.
bool foreign_pod_matters(const kube::PodPtr& before, const kube::PodPtr& after);

// PodGroups and pods by gang, as last watched. A pod may be seen before its PodGroup. Not
// thread-safe. Cost of a change: log(gangs) + log(pods of the gang).
class ForeignGangs {
 public:
  void pod_changed(const kube::PodPtr& before, const kube::PodPtr& after);
  void group_changed(const kube::ForeignGroupPtr& before, const kube::ForeignGroupPtr& after);
  // The API server does not have this kind: its CRD is not installed.
  void set_kind_missing(bool is_missing) { is_kind_missing_ = is_missing; }
  // Why the gang waits, according to this process's planner; "": unknown.
  void explain(const std::string& gang, std::string message);

  // This pod is being bound, until it is seen bound or deleted, or until forget().
  void assume(const std::string& gang, const std::string& pod_uid);
  void forget(const std::string& gang, const std::string& pod_uid);
  bool is_pending(const std::string& gang, const std::string& pod_uid) const;

  planner::ForeignPodSeen seen(const std::string& gang) const;
  // Cost: unbound pods of the gang.
  planner::ForeignHoldSeen hold(const std::string& gang) const;
  // Gangs with a PodGroup that have or had pods, and plain pods that wait or are being bound. Cost:
  // gangs, and unbound pods.
  // `with_nodes`: also ForeignGangSeen::used_on. What its pods use of a node is at most what the
  // node has: they may request any amount.
  std::vector<planner::ForeignGangSeen> all(const VolumeStores& volumes, const NodeTable& nodes,
                                            bool with_nodes = true) const;
  // Unbound pods mount claims.
  bool uses_claims() const { return with_claims_ > 0; }

 private:
  struct Gang {
    kube::ForeignGroupPtr group;
    std::map<std::string, kube::PodPtr, std::less<>> pending;  // by UID; includes assumed pods
    std::set<std::string, std::less<>> assumed;                // of pending
    planner::ForeignCounts counts;  // of all other pods; `pending` stays 0
    std::int64_t not_running = 0;   // of counts.bound
    kube::Resources bound_requests;
    kube::Resources ending_requests;                 // ForeignGangSeen::ending_requests
    std::map<std::string, kube::Resources> used_on;  // both of them by node
    std::string owner;                               // of one of its pods
    std::int64_t whole_with = 0;                     // ForeignGangSeen::whole_with
    kube::Resources whole_requests;                  // what its bound pods used then
    std::string message;
    bool had_pods = false;
  };
  void add(const kube::PodPtr& pod);
  void remove(const kube::Pod& pod);
  static void count_use(const kube::Pod& pod, bool adds, Gang& gang);
  static void note_whole(Gang& gang);
  static void forget_whole(Gang& gang);
  void drop_if_empty(const std::string& key);
  static planner::ForeignCounts compute_counts(const Gang& gang);
  static void limit_use(const Gang& gang, const NodeTable& nodes, planner::ForeignGangSeen& seen);

  std::map<std::string, Gang, std::less<>> gangs_;
  std::size_t with_claims_ = 0;
  bool is_kind_missing_ = false;
};

}  // namespace nervex::extender
