// extender/observe/parts/orphaned_pods.h - how much do pods use that do not count with a PodGroup?
// A part of the cluster cache.
//
// Pods that take long to end, or that cleanPodPolicy None keeps, occupy their nodes longer than
// their slot has a placement: their gang waits again, was scaled down, or was deleted. Until they
// end they count: in the queue of their PodGroup while that exists, later in the one that they name
// if it selects their namespace, else in that of the namespace. Pods of slots that have a placement
// count with these: queue/slot_use.h. Pods that name a PodGroup of another origin (gang/slot.h)
// count as if it did not exist.
//
// Bound plain pods (foreign_gangs.h) count in the queue of their namespace. Pods of a deleted job
// are such pods when their annotations are removed, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "extender/observe/parts/node_table.h"
#include "extender/observe/parts/queue_facts.h"
#include "gang/objects.h"
#include "gang/slot.h"
#include "kube/model/objects.h"
#include "queue/workload.h"

namespace nervex::extender {

// Pods of gangs, this suite's and those of other operators, and plain pods. A pod may be seen
// before its PodGroup. Not thread-safe. Cost of a change: log(gangs) + log(pods of the gang), or of
// a plain pod log(namespaces) + log(nodes).
class OrphanedPods {
 public:
  // True: an orphaned pod began or ended to use capacity, or moved.
  bool pod_changed(const kube::PodPtr& before, const kube::PodPtr& after);
  // It accounts for the pods of queue::list_counted_slots(). Cost: its slots and pods.
  void set_group(const gang::PodGroup& group);
  void erase_group(std::string_view ns, std::string_view uid);
  // The PodGroup of another operator exists and is not being deleted, or does not. It accounts for
  // all its pods.
  void set_foreign_group(std::string_view ns, std::string_view name, bool exists);
  // For each PodGroup with orphaned pods a workload for each queue in which they count: kind
  // nullopt; the first has "namespace/id" of the PodGroup as its id. For each namespace with bound
  // plain pods one, whose id is "namespace/". What the pods of a workload use of a node is at most
  // what the node has. Cost: pods of gangs, and namespaces with plain pods x overused nodes; if
  // queues name classes, their nodes.
  std::vector<queue::Workload> list_workloads(const QueueFacts& queues,
                                              const NodeTable& nodes) const;

 private:
  struct GangPod {
    kube::PodPtr pod;
    std::string role{};  // empty: of another operator's gang
    int ordinal = 0;
  };
  using Pods = std::map<std::string_view, GangPod>;  // by their UID
  struct Gang {
    bool accounts_for_all = false;
    std::optional<gang::Origin> origin{};  // of its PodGroup; nullopt: it does not exist
    gang::QueuePlace place{};              // of its PodGroup
    queue::SlotNumbers counted{};          // slots that it accounts for
    Pods pods{};                           // that occupy a node
    std::ptrdiff_t orphaned = 0;           // how many of them are

    bool has(const GangPod& pod) const { return origin && *origin == gang::Origin(pod.pod->meta); }
    bool is_orphaned(const GangPod& pod) const;
  };
  using Gangs = std::map<std::string, Gang, std::less<>>;
  // What the bound plain pods of a namespace request.
  struct PlainUse {
    kube::Resources total;
    std::map<std::string, kube::Resources, std::less<>> by_node;
  };
  bool gang_pod_changed(const kube::PodPtr& before, const kube::PodPtr& after);
  bool plain_pod_changed(const kube::PodPtr& before, const kube::PodPtr& after);
  void count_plain(const kube::Pod& pod, bool adds);
  static queue::Workload make_workload(const std::string& ns, const PlainUse& use,
                                       const QueueFacts& queues, const NodeTable& nodes);
  // Counts its orphaned pods again. Cost: its pods.
  void group_changed(Gangs::iterator at);
  static std::string find_home(const Gang& gang, const GangPod& pod, const QueueFacts& queues);
  // Keeps orphaned_ as the gang's count says, and forgets a gang without pods and PodGroup.
  void index(Gangs::iterator at);

  Gangs gangs_;  // by "namespace/UID" of the PodGroup, or "/namespace/name" of another operator's
  std::set<std::string, std::less<>> orphaned_;  // keys of gangs_ with orphaned pods
  std::map<std::string, PlainUse> plain_;        // by namespace
};

}  // namespace nervex::extender
