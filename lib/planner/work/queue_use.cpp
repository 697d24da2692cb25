#include "planner/work/queue_use.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "planner/work/ending.h"
#include "queue/settled.h"

namespace nervex::planner {
namespace {

// Pods of slots that have no placement now.
void count_missing(queue::ClassRequests& classes, const GangWork& gang,
                   const queue::FindClass& find_class) {
  const queue::OtherUses* uses = gang.seen->uses.get();
  if (uses == nullptr) return;
  for (const auto* sets : {&gang.missing, &gang.growing}) {
    for (const gang::MemberSet& set : *sets) {
      for (const gang::SlotId slot : set.slots) {
        const queue::OtherUse* use = queue::find_use(uses, set.role, slot);
        if (use != nullptr) queue::count_slot(classes, set.shape.requests, use, "", find_class);
      }
    }
  }
}

// The workload has left out what waited when this cycle began.
void add_grown(queue::Workload& workload, const GangWork& gang) {
  const queue::OtherUses* uses = gang.seen->uses.get();
  if (uses == nullptr || !gang.is_assumed()) return;
  for (const PlacedSlot& slot : gang.placed) {
    if (!has_grown(slot)) continue;
    const auto* use = queue::find_use(uses, slot.placement.role, slot.placement.slot);
    if (use == nullptr || !use->is_over) continue;
    queue::add_requests(workload.requests, slot.set->shape.requests);
  }
}

// Most gangs that wait use nothing. Cheap: count_use() asks each gang.
bool uses_nothing(const GangWork& gang) {
  return !gang.is_assumed() && gang.seen->uses == nullptr && !gang.claims_reserved();
}

// The pods of a gang that has lost its nodes in this cycle.
queue::Workload count_pods(const GangWork& gang, const queue::FindClass& find_class) {
  queue::Workload workload = gang.seen->make_workload(gang.position);
  workload.requests = {};
  for (const queue::OtherUse& use : *gang.seen->uses) {
    if (use.gang != gang.position) continue;
    queue::add_requests(workload.requests, queue::count_pods(use));
    queue::count_slot(workload.class_requests, {}, &use, "", find_class);
  }
  return workload;
}

// The victims of gangs that preempt, as far as they are in use.
class VictimUse {
 public:
  VictimUse(CycleWork& work, const queue::Facts& facts, const Ledger& ledger)
      : facts_(facts), ledger_(ledger) {
    for (GroupWork* group : work.groups) by_uid_.emplace(group->seen->group->meta.uid, group);
    for (const queue::Workload& one : facts.orphaned) orphaned_.emplace(one.id, &one);
  }

  queue::Usage count(const GangWork& preemptor) const {
    const queue::QueueTree& tree = facts_.tree();
    queue::Usage usage(tree);
    std::set<std::string_view> known;
    for (const gang::Victim& victim : preemptor.victims) {
      const auto at = by_uid_.find(victim.pod_group_uid);
      if (at != by_uid_.end()) add_gangs(*at->second, victim, usage);
      if (!known.insert(victim.pod_group_uid).second) continue;
      const std::string ns = at == by_uid_.end() ? preemptor.seen->group->meta.ns.str()
                                                 : at->second->seen->group->meta.ns.str();
      const auto pods = orphaned_.find(ns + "/" + victim.pod_group_uid);
      if (pods == orphaned_.end()) continue;
      usage.add(tree, queue::find_home(tree, *pods->second), *pods->second);
    }
    return usage;
  }

 private:
  void add_gangs(const GroupWork& group, const gang::Victim& victim, queue::Usage& usage) const {
    const queue::QueueTree& tree = facts_.tree();
    for (const GangWork& gang : group.gangs) {
      const bool ends =
          gang.name == victim.gang ? is_same_start(gang, victim) : victim.gang == gang::kBaseGang;
      if (!ends || !gang.is_committed()) continue;
      const queue::Workload workload = group.seen->make_workload(gang.position);
      usage.add(tree, queue::find_home(tree, workload), workload,
                count_classes(group, gang, facts_, ledger_));
    }
  }

  const queue::Facts& facts_;
  const Ledger& ledger_;
  std::map<std::string_view, const GroupWork*> by_uid_;
  std::map<std::string_view, const queue::Workload*> orphaned_;
};

}  // namespace

queue::Workload make_workload(const GroupWork& group, const GangWork& gang,
                              const queue::QueueTree& tree) {
  queue::Workload workload = group.seen->make_workload(gang.position);
  if (tree.find(group.queue.name)) workload.queue = group.queue.name;
  return workload;
}

queue::Workload make_used_workload(const ForeignWork& gang, const queue::Facts& facts) {
  queue::Workload workload = gang.make_used_workload();
  if (const auto queue = facts.find_default_queue(workload.ns)) {
    workload.queue = facts.tree()[*queue].name;
  }
  return workload;
}

kube::Resources count_taken_over(const GangWork& gang) {
  kube::Resources requests;
  for (const gang::MemberSet* set : gang.sets) {
    if (set->from_reserved.count == 0) continue;
    queue::add_requests(requests, set->shape.requests, set->from_reserved.count);
  }
  return requests;
}

queue::FindClass find_classes(const Ledger& ledger, const queue::Facts& facts) {
  return [&](std::string_view node) { return ledger.label(node, facts.class_label); };
}

namespace {

queue::ClassRequests count_classes(const GroupWork& group, const GangWork& gang,
                                   const queue::Facts& facts, const queue::FindClass& find_class) {
  queue::ClassRequests classes;
  if (!facts.tree().uses_classes()) return classes;
  if (gang.is_assumed()) {
    for (const PlacedSlot& slot : gang.placed) {
      const auto& [role, id, node, number] = slot.placement;
      const auto* use =
          has_grown(slot) ? nullptr : queue::find_use(group.seen->uses.get(), role, id);
      queue::count_slot(classes, slot.set->shape.requests, use, node, find_class);
    }
  }
  if (gang.is_assumed()) count_missing(classes, gang, find_class);
  group.reserved.visit(gang, [&](const gang::MemberSet& set, std::string_view node, int pods) {
    queue::add_requests(classes, find_class(node), set.shape.requests, pods);
  });
  return classes;
}

}  // namespace

queue::ClassRequests count_classes(const GroupWork& group, const GangWork& gang,
                                   const queue::Facts& facts, const Ledger& ledger) {
  return count_classes(group, gang, facts, find_classes(ledger, facts));
}

queue::Workload make_used_workload(const GroupWork& group, const GangWork& gang,
                                   const queue::Facts& facts, const queue::FindClass& find_class,
                                   PreemptingUse preempting) {
  const bool is_left_out = preempting == PreemptingUse::kLeftOut && !gang.victims.empty();
  const bool has_nodes = gang.is_committed() || (gang.is_assumed() && !is_left_out);
  if (!has_nodes && !gang.claims_reserved()) {
    queue::Workload pods;
    if (group.seen->uses) pods = count_pods(gang, find_class);
    if (!facts.tree().uses_classes()) pods.class_requests = {};
    return pods;
  }
  queue::Workload workload = make_workload(group, gang, facts.tree());
  if (!has_nodes) workload.requests = count_taken_over(gang);
  add_grown(workload, gang);
  workload.class_requests = count_classes(group, gang, facts, find_class);
  return workload;
}

queue::ClassRequests count_classes(const ForeignWork& gang, const queue::Facts& facts,
                                   const Ledger& ledger) {
  if (!facts.tree().uses_classes()) return {};
  return gang.count_classes(ledger, facts.class_label);
}

queue::Usage count_use(CycleWork& work, const queue::Facts& facts, const Ledger& ledger,
                       PreemptingUse preempting) {
  queue::Usage usage = facts.settled->usage;
  const queue::QueueTree& tree = facts.tree();
  if (tree.is_root_alone()) return usage;  // the root has no limits
  const auto add = [&](const queue::Workload& workload, const queue::ClassRequests& classes) {
    usage.add(tree, queue::find_home(tree, workload), workload, classes);
  };
  for (const queue::Workload& orphaned : facts.orphaned) {
    usage.add(tree, queue::find_home(tree, orphaned), orphaned);
  }
  const queue::FindClass find_class = find_classes(ledger, facts);
  std::optional<VictimUse> victims;
  for (GroupWork* group : work.groups) {
    if (group->seen->is_settled) continue;
    for (GangWork& gang : group->gangs) {
      if (uses_nothing(gang)) continue;
      const queue::Workload workload =
          make_used_workload(*group, gang, facts, find_class, preempting);
      if (workload.requests.empty() && !gang.is_assumed()) continue;
      const bool is_beyond =
          preempting == PreemptingUse::kBeyondVictims && gang.is_assumed() && !gang.victims.empty();
      if (!is_beyond) {
        add(workload, workload.class_requests);
        continue;
      }
      if (!victims) victims.emplace(work, facts, ledger);
      usage.add_beyond(tree, queue::find_home(tree, workload), workload, victims->count(gang));
    }
  }
  for (ForeignWork& foreign : work.foreign) {
    const queue::Workload workload = make_used_workload(foreign, facts);
    if (!workload.requests.empty()) add(workload, count_classes(foreign, facts, ledger));
  }
  return usage;
}

}  // namespace nervex::planner
