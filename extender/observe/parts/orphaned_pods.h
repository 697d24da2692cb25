// extender/observe/parts/orphaned_pods.h - how much do pods use whose PodGroup was deleted, or is
// being deleted? A part of the cluster cache.
//
// Pods that take long to end, or that cleanPodPolicy None keeps, occupy their nodes longer than
// their gang exists. Until they end they count in the queue of the gang.
#pragma once

#include <map>
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
  // The PodGroup exists and is not being deleted, or does not. `id`: its UID; the name of one of
  // another operator.
  void set_group(std::string_view ns, std::string_view id, bool exists);
  // One workload for each PodGroup with orphaned pods: kind nullopt, with the queue that the pods
  // name. Cost: those pods.
  std::vector<queue::Workload> list_workloads(const queue::FindClass& find_class) const;

 private:
  struct Gang {
    bool has_group = false;
    std::map<std::string_view, PodPtr> pods{};  // that occupy a node, by their UID
    bool is_orphaned() const { return !has_group && !pods.empty(); }
  };
  using Gangs = std::map<std::string, Gang, std::less<>>;
  void update(Gangs::iterator at);

  Gangs gangs_;                                  // by "namespace/id" of the PodGroup
  std::set<std::string, std::less<>> orphaned_;  // keys of gangs_
};

}  // namespace nervex::extender
