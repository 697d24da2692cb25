#include "extender/cycle/start_waiting.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "extender/cycle/queue_use.h"
#include "extender/cycle/settled.h"
#include "extender/cycle/start_blocker.h"
#include "queue/backlog.h"
#include "queue/inadmissible.h"
#include "queue/line.h"
#include "queue/workload.h"

namespace nervex::extender {
namespace {

// One workload that waits: a gang of this suite, or one of another operator.
struct Turn {
  GroupWork* group = nullptr;
  GangWork* gang = nullptr;
  ForeignWork* foreign = nullptr;

  bool is_base() const { return gang != nullptr && gang->kind == gang::GangKind::kBase; }
};

// The gangs that wait. Both vectors have the same indices.
struct Waiting {
  std::vector<queue::Workload> workloads;
  std::vector<Turn> turns;

  const Turn& turn(const queue::Workload& workload) const {
    return turns[static_cast<std::size_t>(&workload - workloads.data())];
  }
};

void hold(const Turn& turn, const queue::Inadmissible& reason, Placer& placer) {
  const gang::NotAdmitted why = queue::describe(reason);
  if (turn.foreign != nullptr) return turn.foreign->hold(why);
  placer.hold(*turn.group, *turn.gang, why);
}

// The base gang has its nodes: the job stays in its queue.
bool has_fixed_queue(const GroupWork& group) {
  return !group.gangs.empty() && group.gangs.front().kind == gang::GangKind::kBase &&
         group.gangs.front().is_reserved;
}

std::variant<queue::QueueIndex, queue::Inadmissible> find_queue(const queue::Facts& facts,
                                                                const Turn& turn,
                                                                const queue::Workload& workload) {
  if (turn.group == nullptr) return facts.find_queue("", workload.ns);
  if (!has_fixed_queue(*turn.group)) {
    return facts.find_queue(turn.group->seen->group->spec.queue, workload.ns);
  }
  const std::string& fixed = turn.group->queue.name;
  const auto queue = facts.tree().find(fixed);
  if (!queue) return queue::QueueNotFound{fixed};
  return *queue;
}

// Names the workload's queue; false: it has none, and is held.
bool choose_queue(const queue::Facts& facts, queue::Workload& workload, const Turn& turn,
                  Placer& placer) {
  const auto found = find_queue(facts, turn, workload);
  const auto* queue = std::get_if<queue::QueueIndex>(&found);
  workload.queue = queue == nullptr ? "" : facts.tree()[*queue].name;
  if (turn.is_base()) turn.group->queue = {workload.queue};
  if (queue == nullptr) hold(turn, std::get<queue::Inadmissible>(found), placer);
  return queue != nullptr;
}

Waiting collect_waiting(CycleWork& work, const queue::Facts& facts, Placer& placer) {
  Waiting waiting;
  const auto add = [&](queue::Workload workload, const Turn& turn) {
    if (!choose_queue(facts, workload, turn, placer)) return;
    if (turn.gang != nullptr) {
      if (const auto missing = find_missing_claim(*turn.group, *turn.gang)) {
        return placer.hold(*turn.group, *turn.gang, *missing);
      }
    }
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
          queue::Workload workload = group->seen->make_workload(gang.position);
          workload.state = queue::Workload::State::kWaiting;
          if (gang.claims_reserved()) workload.requests -= count_taken_over(gang);
          add(std::move(workload), {group, &gang, nullptr});
        }
      },
  };
  for (const Work& one : work.queue) std::visit(collect, one);
  return waiting;
}

queue::ClassRequests count_classes_of(const Turn& turn, const queue::Facts& facts,
                                      const Ledger& ledger) {
  return turn.foreign != nullptr ? count_classes(*turn.foreign, facts, ledger)
                                 : count_classes(*turn.group, *turn.gang, facts, ledger);
}

gang::NotAdmitted describe_caps(const queue::Workload& workload, const queue::ClassCaps& caps) {
  queue::NodeClassLimit reason;
  reason.queue = workload.queue;
  reason.resource = caps.caps.front().resource;
  for (const auto& [resource, node_class, most] : caps.caps) {
    if (resource == reason.resource) reason.left.push_back({node_class, most});
  }
  return queue::describe(reason);
}

// As our own gangs: first without any reserved nodes, then without those that it may not use.
bool place(ForeignWork& gang, const std::vector<placement::GroupLimit>& limits, bool needed_first,
           Placer& placer) {
  const ReservedNodes& reserved = placer.reserved();
  const auto try_without = [&](const ReservedNodes::Indices& indices) {
    const auto held = reserved.hold(indices, placer.ledger());
    const bool is_placed = gang.complete(placer.ledger(), limits, needed_first);
    ReservedNodes::release(held, placer.ledger());
    return is_placed;
  };
  const ReservedNodes::Indices reached = reserved.find_reached();
  const ReservedNodes::Indices all = reserved.find_kept();
  return try_without(all) || (all != reached && try_without(reached));
}

bool place(const queue::Backlog::Offer& offer, const Turn& turn, const queue::Facts& facts,
           Placer& placer) {
  auto limits = make_limits(offer.caps, facts.class_label);
  if (turn.foreign != nullptr) {
    return place(*turn.foreign, limits, !facts.tree().is_root_alone(), placer);
  }
  placer.reserved().reach(*turn.gang);
  if (!limits.empty()) turn.gang->group_limit_cause = describe_caps(*offer.workload, offer.caps);
  turn.gang->group_limits = std::move(limits);
  placer.complete(*turn.group, *turn.gang);
  if (turn.gang->no_fit) return false;
  if (turn.is_base()) {
    gang::QueuePlace& queue = turn.group->queue;
    queue.max_runtime_seconds =
        facts.tree().max_runtime_seconds(facts.tree().find(queue.name).value());
  }
  return true;
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
    if (!reserves_capacity(*group.seen->group)) return;
    const ReservedNodes& reserved = placer_.reserved();
    Ledger& ledger = placer_.ledger_for(group);
    const auto held = reserved.hold(reserved.find_forbidden(group), ledger);
    group.reserved.restore(ledger, group.gangs.front());
    ReservedNodes::release(held, ledger);
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

kube::Resources shared_capacity(const queue::QueueTree& tree, const Placer& placer) {
  if (tree.is_root_alone()) return {};  // the root shares with nothing
  return placer.ledger().nodes().allocatable();
}

// The positions of what waits, each in its queue.
void set_positions(const Waiting& waiting, const queue::Usage& usage,
                   const kube::Resources& capacity, const queue::QueueTree& tree) {
  std::vector<std::vector<const queue::Workload*>> lines(tree.size());
  for (const queue::Workload& workload : waiting.workloads) {
    lines[tree.find(workload.queue).value()].push_back(&workload);
  }
  for (queue::QueueIndex queue = queue::kRoot; queue < tree.size(); ++queue) {
    std::size_t position = 0;
    for (const queue::Workload* workload : queue::serving_order(
             queue::Line(tree[queue], capacity, usage.users(queue), std::move(lines[queue])))) {
      ++position;
      const Turn& turn = waiting.turn(*workload);
      if (turn.is_base()) turn.group->queue.position = queue::coarse_position(position);
    }
  }
}

// nullopt: a gang got its placements.
std::optional<QueueState> serve_once(CycleWork& work, Placer& placer, const queue::Facts& facts) {
  placer.begin_pass();
  bool is_any_placed = complete_committed(work, placer);
  const queue::QueueTree& tree = facts.tree();
  Waiting waiting = collect_waiting(work, facts, placer);
  kube::Resources capacity = shared_capacity(tree, placer);
  queue::Backlog backlog(tree, capacity, count_use(work, facts, placer.ledger()),
                         waiting.workloads);
  Restorer restorer(work, placer);
  std::vector<RefusedTurn> refused;
  const auto note_refused = [&](const queue::Workload& workload) {
    const Turn& turn = waiting.turn(workload);
    if (turn.gang == nullptr) return;
    refused.push_back(
        {turn.group, turn.gang, static_cast<std::size_t>(&workload - waiting.workloads.data())});
  };
  while (const auto offer = backlog.next()) {
    const Turn& turn = waiting.turn(*offer->workload);
    restorer.restore_before(queue::rank(*offer->workload));
    const queue::ClassRequests before = turn.foreign == nullptr
                                            ? queue::ClassRequests()
                                            : count_classes_of(turn, facts, placer.ledger());
    if (place(*offer, turn, facts, placer)) {
      is_any_placed = true;
      queue::ClassRequests classes = count_classes_of(turn, facts, placer.ledger());
      for (const auto& [node_class, requests] : before) classes[node_class] -= requests;
      backlog.place(classes);
    } else {
      backlog.skip();
      note_refused(*offer->workload);
    }
  }
  restorer.restore_rest();
  for (const auto& [workload, reason] : backlog.held()) {
    hold(waiting.turn(*workload), reason, placer);
    if (std::holds_alternative<queue::LimitExceeded>(reason)) note_refused(*workload);
  }
  if (is_any_placed) return std::nullopt;
  set_positions(waiting, backlog.usage(), capacity, tree);
  queue::Usage usage = backlog.usage();
  return QueueState{std::move(waiting.workloads), std::move(usage), std::move(capacity),
                    std::move(refused)};
}

}  // namespace

std::vector<placement::GroupLimit> make_limits(const queue::ClassCaps& caps,
                                               const std::string& label) {
  std::map<std::string_view, placement::GroupLimit> by_resource;
  for (const auto& [resource, node_class, most] : caps.caps) {
    placement::GroupLimit& limit = by_resource[resource];
    limit.most.emplace(node_class, most);
  }
  std::vector<placement::GroupLimit> limits;
  for (auto& [resource, limit] : by_resource) {
    limit.label = label;
    limit.resource = resource;
    limit.closes_others =
        std::binary_search(caps.only_capped.begin(), caps.only_capped.end(), resource);
    limits.push_back(std::move(limit));
  }
  return limits;
}

const gang::NoFit* find_shortage(const RefusedTurn& turn, const Placer& placer) {
  const GangWork& gang = *turn.gang;
  const bool is_all = gang.no_fit && !gang.committed && may_place(*turn.group, gang) &&
                      !gang.claims_reserved() && !placer.is_over_quota(*turn.group, gang);
  return is_all ? &*gang.no_fit : nullptr;
}

QueueState start_waiting(CycleWork& work, Placer& placer, const queue::Facts& facts) {
  while (true) {
    if (auto state = serve_once(work, placer, facts)) return *std::move(state);
  }
}

}  // namespace nervex::extender
