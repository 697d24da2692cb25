// planner/work/ending.h - what is about to give its capacity back? Pure.
//
// Preemption counts it as free: otherwise more workloads end than a gang needs. It is pods that are
// being deleted, gangs that their controller is about to requeue, and the victims of gangs that are
// preempting. What takes long does not count: a pod in the first part of a long grace period, and
// what should have ended already.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kube/model/shared.h"
#include "planner/facts/cycle_facts.h"
#include "planner/facts/snapshot.h"
#include "planner/gang/ledger.h"
#include "planner/work/group_work.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::planner {

// The classes of the snapshot's nodes. Borrows it.
queue::FindClass find_classes(const Snapshot& snapshot);
// Workload::class_requests of a gang by its status, if queues name classes.
void set_class_requests(queue::Workload& workload, const gang::PodGroup& group,
                        const queue::OtherUses* uses, const Snapshot& snapshot);

// All of the released gang ends. Of one that could not be healed, what is complete runs on, unless
// it is the base gang.
bool ends_wholly(const gang::GangStatus& released);

// The victim has not started again since it was chosen.
bool is_same_start(const GangWork& gang, const gang::Victim& victim);

// Borrows its arguments; a change of `work` needs a new one. Cost: gangs of `work`, and pods that
// are being deleted; what lend_to() and remove_from() cost depends on what ends.
class Ending {
 public:
  // `spares_victims_of`: as if this gang named no victims. Null: no such gang.
  Ending(const CycleFacts& facts, const CycleWork& work,
         const GangWork* spares_victims_of = nullptr);

  // The ledger as it will be.
  Ledger lend_to(Ledger ledger) const;
  // The same for the use of queues.
  void remove_from(queue::Usage& usage) const;
  bool has(std::string_view pod_group_uid, std::string_view gang) const {
    return names_.count({pod_group_uid, gang}) > 0;
  }
  // The job of the PodGroup ends, by itself or not: its base gang does, or its coordinator's pod
  // has finished, is being deleted, or was stopped by the cluster.
  bool ends_job(const GroupWork& group) const;
  // A pod of that placement is being deleted.
  bool is_terminating(const gang::PodGroup& group, std::int64_t placement) const {
    const auto known = terminating_.find(group.meta.uid);
    return known != terminating_.end() && known->second.count({placement, group.meta.ns}) > 0;
  }
  // A pod that is being deleted gives its capacity back soon: lend_to() counts it.
  bool is_about_to_end(const kube::Pod& pod) const;
  // Preempted gangs of several jobs were not requeued in time: nervex-controller is away. What is
  // marked now would end when it is back, in addition to what was marked before.
  bool is_requeue_late() const;
  // namespace/name of PodGroups with such a gang.
  const std::set<std::string>& neglected() const { return neglected_; }

 private:
  struct EndingGang {
    const GroupWork* group = nullptr;
    const GangWork* gang = nullptr;
  };
  using GangNames = std::set<std::pair<std::string_view, std::string_view>>;  // PodGroup UID, gang
  using Victims = std::map<std::pair<std::string_view, std::string_view>, const gang::Victim*>;
  void add_gangs(const GroupWork& group, const Victims& victims);
  bool is_neglected(const GroupWork& group, const GangWork& gang) const;
  // The slots whose pods count with their PodGroup in its queue, of PodGroups with pods that are
  // being deleted, by UID and namespace.
  using Counted = std::map<std::pair<std::string_view, std::string_view>, queue::SlotNumbers>;
  Counted list_counted() const;

  const Snapshot& snapshot_;
  const SysTime now_;
  std::set<std::string> neglected_;
  std::vector<EndingGang> gangs_;
  GangNames names_;  // of gangs_
  // By the PodGroup UID that pods being deleted name: placement and the pod's own namespace.
  std::map<std::string, std::set<std::pair<std::int64_t, kube::SharedString>>, std::less<>>
      terminating_;
};

// Ending::neglected(). Cost if there are none: gangs of `work`.
std::set<std::string> find_neglected(const CycleFacts& facts, const CycleWork& work);

}  // namespace nervex::planner
