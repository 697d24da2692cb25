#include "extender/cycle/start_waiting.h"

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "queue/backlog.h"
#include "queue/inadmissible.h"
#include "queue/workload.h"

namespace nervex::extender {
namespace {

// One workload that waits: a gang of this suite, or one of another operator.
struct Turn {
  GroupWork* group = nullptr;
  GangWork* gang = nullptr;
  ForeignWork* foreign = nullptr;

  queue::Rank rank() const { return foreign != nullptr ? foreign->rank() : group->rank(); }
};

// The gangs that wait. Both vectors have the same indices.
struct Waiting {
  std::vector<queue::Workload> workloads;
  std::vector<Turn> turns;
};

void hold(const Turn& turn, const queue::Inadmissible& reason, Placer& placer) {
  const gang::NotAdmitted why = queue::describe(reason);
  if (turn.foreign != nullptr) return turn.foreign->hold(why);
  placer.hold(*turn.group, *turn.gang, why);
}

// Names the workload's queue; false: it has none, and is held.
bool choose_queue(const queue::Facts& facts, queue::Workload& workload, const Turn& turn,
                  Placer& placer) {
  if (facts.tree().size() == 1) return true;  // the root alone
  const auto found = facts.find_queue(workload.queue, workload.ns);
  if (const auto* reason = std::get_if<queue::Inadmissible>(&found)) {
    hold(turn, *reason, placer);
    return false;
  }
  workload.queue = facts.tree()[std::get<queue::QueueIndex>(found)].name;
  return true;
}

Waiting collect_waiting(CycleWork& work, const queue::Facts& facts, Placer& placer) {
  Waiting waiting;
  const auto add = [&](queue::Workload workload, const Turn& turn) {
    if (!choose_queue(facts, workload, turn, placer)) return;
    waiting.workloads.push_back(std::move(workload));
    waiting.turns.push_back(turn);
  };
  const Overloaded collect{
      [&](ForeignWork* foreign) {
        if (foreign->waits()) add(foreign->make_workload(), {nullptr, nullptr, foreign});
      },
      [&](GroupWork* group) {
        for (GangWork& gang : group->gangs) {
          if (gang.committed || !may_place(*group, gang)) continue;
          queue::Workload workload = queue::make_workload(*group->seen->group, gang.position);
          workload.state = queue::Workload::State::kWaiting;
          add(std::move(workload), {group, &gang, nullptr});
        }
      },
  };
  for (const Work& one : work.queue) std::visit(collect, one);
  return waiting;
}

// What is used beside the settled workloads.
queue::Usage count_use(const CycleWork& work, const queue::Facts& facts) {
  queue::Usage usage = facts.settled->usage;
  const queue::QueueTree& tree = facts.tree();
  if (tree.size() == 1) return usage;  // the root has no limits
  const auto add = [&](const queue::Workload& workload) {
    usage.add(tree, queue::find_home(tree, workload), workload);
  };
  for (const GroupWork* group : work.groups) {
    if (group->seen->is_settled) continue;
    for (const GangWork& gang : group->gangs) {
      if (gang.committed || gang.is_reserved) {
        add(queue::make_workload(*group->seen->group, gang.position));
      }
    }
  }
  for (const ForeignWork& foreign : work.foreign) add(foreign.make_used_workload());
  return usage;
}

bool place(const Turn& turn, Placer& placer) {
  if (turn.foreign != nullptr) return turn.foreign->complete(placer.ledger());
  placer.complete(*turn.group, *turn.gang);
  return !turn.gang->no_fit;
}

// Restores the reserved capacity of PodGroups in the order of their rank.
class Restorer {
 public:
  Restorer(const CycleWork& work, Placer& placer)
      : groups_(work.groups), next_(groups_.begin()), placer_(placer) {}

  void restore_before(const queue::Rank& rank) {
    while (next_ != groups_.end() && (*next_)->rank() < rank) restore(**next_++);
  }
  void restore_rest() {
    while (next_ != groups_.end()) restore(**next_++);
  }

 private:
  void restore(GroupWork& group) {
    if (group.seen->unconfirmed || group.gangs.empty()) return;
    group.reserved.restore(placer_.ledger_for(group), group.gangs.front());
  }

  const std::vector<GroupWork*>& groups_;
  std::vector<GroupWork*>::const_iterator next_;
  Placer& placer_;
};

// True if a committed gang is whole now.
bool complete_committed(CycleWork& work, Placer& placer) {
  bool is_any_placed = false;
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      if (!gang.committed || !may_place(*group, gang)) continue;
      placer.complete(*group, gang);
      is_any_placed = is_any_placed || !gang.no_fit;
    }
  }
  return is_any_placed;
}

// True if a gang got its placements.
bool serve_once(CycleWork& work, Placer& placer, const queue::Facts& facts) {
  bool is_any_placed = complete_committed(work, placer);
  const Waiting waiting = collect_waiting(work, facts, placer);
  const kube::Resources capacity =
      facts.tree().size() == 1 ? kube::Resources() : placer.ledger().nodes().allocatable();
  queue::Backlog backlog(facts.tree(), capacity, count_use(work, facts), waiting.workloads);
  Restorer restorer(work, placer);
  while (const auto offer = backlog.next()) {
    const Turn& turn = waiting.turns[offer->workload - waiting.workloads.data()];
    restorer.restore_before(turn.rank());
    if (place(turn, placer)) {
      is_any_placed = true;
      backlog.place();
    } else {
      backlog.skip();
    }
  }
  restorer.restore_rest();
  for (const auto& [workload, reason] : backlog.held()) {
    hold(waiting.turns[workload - waiting.workloads.data()], reason, placer);
  }
  return is_any_placed;
}

}  // namespace

void start_waiting(CycleWork& work, Placer& placer, const queue::Facts& facts) {
  while (serve_once(work, placer, facts)) continue;
}

}  // namespace nervex::extender
