#include "extender/cycle/queue_use.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "queue/settled.h"

namespace nervex::extender {

kube::Resources count_taken_over(const GangWork& gang) {
  kube::Resources requests;
  for (const gang::MemberSet* set : gang.sets) {
    if (set->from_reserved.count == 0) continue;
    queue::add_requests(requests, set->shape.requests, set->from_reserved.count);
  }
  return requests;
}

queue::ClassRequests count_classes(const GroupWork& group, const GangWork& gang,
                                   const queue::Facts& facts, const Ledger& ledger) {
  queue::ClassRequests classes;
  if (!facts.tree().uses_classes()) return classes;
  const auto add = [&](const gang::MemberSet& set, std::string_view node, int pods) {
    queue::add_requests(classes, ledger.label(node, facts.class_label), set.shape.requests, pods);
  };
  if (gang.committed || gang.is_reserved) {
    for (const PlacedSlot& slot : gang.placed) add(*slot.set, slot.placement.node, 1);
  }
  group.reserved.visit(gang, add);
  return classes;
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
  for (GroupWork* group : work.groups) {
    if (group->seen->is_settled) continue;
    for (GangWork& gang : group->gangs) {
      const bool is_left_out = preempting == PreemptingUse::kLeftOut && !gang.victims.empty();
      const bool has_nodes = gang.committed || (gang.is_reserved && !is_left_out);
      if (!has_nodes && !gang.claims_reserved()) continue;
      queue::Workload workload = group->seen->make_workload(gang.position);
      if (!has_nodes) workload.requests = count_taken_over(gang);
      workload.queue = group->queue.name;
      add(workload, count_classes(*group, gang, facts, ledger));
    }
  }
  for (ForeignWork& foreign : work.foreign) {
    queue::Workload workload = foreign.make_used_workload();
    if (workload.requests.empty()) continue;
    const auto queue = facts.find_queue("", workload.ns);
    if (const auto* index = std::get_if<queue::QueueIndex>(&queue)) {
      workload.queue = tree[*index].name;
    }
    add(workload, count_classes(foreign, facts, ledger));
  }
  return usage;
}

}  // namespace nervex::extender
