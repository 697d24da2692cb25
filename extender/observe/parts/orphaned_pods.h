// extender/observe/parts/orphaned_pods.h - how much do pods use that do not count with their
// PodGroup? A part of the cluster cache.
//
// Pods that take long to end, or that cleanPodPolicy None keeps, occupy their nodes longer than
// their slot has a placement: their gang waits again, was scaled down, or was deleted. Until they
// end they count in the queue of the gang. Pods of slots that have a placement count with these:
// queue/slot_use.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "extender/objects.h"
#include "queue/workload.h"

namespace nervex::extender {

// Pods of gangs, this suite's and those of other operators. A pod may be seen before its PodGroup.
// Not thread-safe. Cost of a change: log(gangs) + log(pods of the gang).
class OrphanedPods {
 public:
  // True: an orphaned pod began or ended to use capacity.
  bool pod_changed(const PodPtr& before, const PodPtr& after);
  // It accounts for the pods of queue::list_counted_slots(). Cost: its slots and pods.
  void set_group(const gang::PodGroup& group);
  void erase_group(std::string_view ns, std::string_view uid);
  // The PodGroup of another operator exists and is not being deleted, or does not. It accounts for
  // all its pods.
  void set_foreign_group(std::string_view ns, std::string_view name, bool exists);
  // One workload for each PodGroup with orphaned pods: kind nullopt, with the queue that the pods
  // name. Cost: those pods.
  std::vector<queue::Workload> list_workloads(const queue::FindClass& find_class) const;

 private:
  struct GangPod {
    PodPtr pod;
    std::string role{};  // empty: of another operator's gang
    int ordinal = 0;
  };
  struct Gang {
    bool accounts_for_all = false;
    queue::SlotNumbers counted{};                // slots that it accounts for
    std::map<std::string_view, GangPod> pods{};  // that occupy a node, by their UID
    std::ptrdiff_t orphaned = 0;                 // how many of them are

    bool is_orphaned(const GangPod& pod) const;
  };
  using Gangs = std::map<std::string, Gang, std::less<>>;
  // Counts its orphaned pods again. Cost: its pods.
  void group_changed(Gangs::iterator at);
  // Keeps orphaned_ as the gang's count says, and forgets a gang without pods and PodGroup.
  void index(Gangs::iterator at);

  Gangs gangs_;                                  // by "namespace/id" of the PodGroup
  std::set<std::string, std::less<>> orphaned_;  // keys of gangs_ with orphaned pods
};

}  // namespace nervex::extender
