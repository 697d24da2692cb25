#include "planner/steps/start_waiting.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "planner/facts/settled.h"
#include "planner/foreign/refused_plain_pods.h"
#include "planner/steps/class_limits.h"
#include "planner/steps/growing.h"
#include "planner/steps/limit_shares.h"
#include "planner/work/queue_use.h"
#include "planner/work/start_blocker.h"
#include "queue/backlog.h"
#include "queue/inadmissible.h"
#include "queue/line.h"
#include "queue/workload.h"

namespace nervex::planner {
namespace {

// One workload that waits: a gang of this suite, or pods of one of another operator.
struct Turn {
  GroupWork* group = nullptr;
  GangWork* gang = nullptr;
  ForeignWork* foreign = nullptr;
  ForeignPart part{};
  bool is_first = true;  // of the gang: the others are not counted as waiting

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
  if (turn.foreign != nullptr) return turn.foreign->hold(turn.part, why);
  placer.hold(*turn.group, *turn.gang, why);
}

// The base gang has its nodes: the job stays in its queue.
bool has_fixed_queue(const GroupWork& group) {
  return !group.gangs.empty() && group.gangs.front().kind == gang::GangKind::kBase &&
         group.gangs.front().is_assumed();
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

// Names the workload's queue, whose limit a job gets that starts; false: it has none, and is held.
bool choose_queue(const queue::Facts& facts, queue::Workload& workload, const Turn& turn,
                  Placer& placer) {
  const auto found = find_queue(facts, turn, workload);
  const auto* queue = std::get_if<queue::QueueIndex>(&found);
  workload.queue = queue == nullptr ? "" : facts.tree()[*queue].name;
  if (turn.is_base()) turn.group->queue = {workload.queue};
  if (queue == nullptr) hold(turn, std::get<queue::Inadmissible>(found), placer);
  if (queue != nullptr && turn.is_base()) {
    workload.longest_run =
        queue::longest_run(turn.group->seen->group->spec, facts.tree().max_runtime_seconds(*queue));
  }
  return queue != nullptr;
}

Waiting collect_waiting(CycleWork& work, const queue::Facts& facts, Placer& placer) {
  Waiting waiting;
  waiting.workloads.reserve(work.queue.size());  // most have one gang
  waiting.turns.reserve(work.queue.size());
  const auto add = [&](queue::Workload workload, Turn turn) {
    if (!choose_queue(facts, workload, turn, placer)) return;
    if (turn.gang != nullptr) {
      if (const auto missing = find_missing_claim(*turn.group, *turn.gang)) {
        return placer.hold(*turn.group, *turn.gang, *missing);
      }
    }
    waiting.workloads.push_back(std::move(workload));
    waiting.turns.push_back(std::move(turn));
  };
  const Overloaded collect{
      [&](ForeignWork* foreign) {
        foreign->begin_pass();
        bool is_first = true;
        for (ForeignPart& part : foreign->list_waiting()) {
          queue::Workload workload = foreign->make_workload(part);
          add(std::move(workload), {nullptr, nullptr, foreign, std::move(part), is_first});
          is_first = false;
          if (facts.tree().is_root_alone()) break;  // its pods need no turns of their own
        }
      },
      [&](GroupWork* group) {
        for (GangWork& gang : group->gangs) {
          if (gang.is_committed() || !may_place(*group, gang)) continue;
          queue::Workload workload = group->seen->make_workload(gang.position);
          workload.state = queue::Workload::State::kWaiting;
          if (gang.claims_reserved()) workload.requests -= count_taken_over(gang);
          add(std::move(workload), {group, &gang});
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

// As our own gangs: first without any reserved nodes, then without those that it may not use.
bool place_foreign(const queue::Backlog::Offer& offer, const Turn& turn, const queue::Facts& facts,
                   Placer& placer, RefusedPlainPods& refused) {
  ForeignWork& gang = *turn.foreign;
  const auto limits = make_limits(offer.caps, facts.class_label);
  if (gang.is_full(turn.part, limits) || refused.refuse(gang, limits)) return false;
  const gang::NotAdmitted cause =
      limits.empty() ? gang::NotAdmitted() : describe_caps(offer.workload->queue, offer.caps);
  const ReservedNodes& reserved = placer.reserved();
  const auto try_without = [&](const ReservedNodes::Indices& indices) {
    const auto held = reserved.hold(indices, placer.ledger());
    const bool is_placed = facts.tree().is_root_alone()
                               ? gang.complete_all(placer.ledger())
                               : gang.complete(turn.part, placer.ledger(), limits, cause);
    ReservedNodes::release(held, placer.ledger());
    return is_placed;
  };
  const ReservedNodes::Indices reached = reserved.find_reached();
  const ReservedNodes::Indices all = reserved.find_kept();
  if (try_without(all) || (all != reached && try_without(reached))) return true;
  gang.note_full(turn.part, limits);
  refused.note(gang, limits);
  return false;
}

bool place(const queue::Backlog::Offer& offer, const Turn& turn, const queue::Facts& facts,
           Placer& placer, RefusedPlainPods& refused) {
  if (turn.foreign != nullptr) return place_foreign(offer, turn, facts, placer, refused);
  placer.reserved().reach(*turn.gang);
  set_class_limits(*turn.group, *turn.gang, offer.workload->queue, offer.caps, facts,
                   placer.ledger());
  placer.complete(*turn.group, *turn.gang);
  if (turn.gang->no_fit) return false;
  if (turn.is_base()) {
    gang::QueuePlace& queue = turn.group->queue;
    const queue::QueueIndex index = facts.tree().find(queue.name).value();
    queue.max_runtime_seconds = facts.tree().max_runtime_seconds(index);
    queue.parents = facts.tree().list_parents(index);
  }
  return true;
}

// Restores the reserved capacity of PodGroups in the order of their rank.
class Restorer {
 public:
  Restorer(const CycleWork& work, Placer& placer, ClassLimits limits)
      : groups_(work.groups), next_(groups_.begin()), placer_(placer), limits_(limits) {}

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
    GangWork& base = group.gangs.front();
    limits_.place(group, base, [&] { group.reserved.restore(ledger, base); });
    ReservedNodes::release(held, ledger);
  }

  const std::vector<GroupWork*>& groups_;
  std::vector<GroupWork*>::const_iterator next_;
  Placer& placer_;
  ClassLimits limits_;
};

// True if a committed gang is whole now.
bool complete_committed(CycleWork& work, Placer& placer, ClassLimits limits) {
  bool is_any_placed = false;
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      if (!gang.is_committed() || !may_place(*group, gang)) continue;
      limits.place(*group, gang, [&] { placer.complete(*group, gang); });
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
    if (!waiting.turn(workload).is_first) continue;
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

// What waits, each gang once.
std::vector<queue::Workload> list_gangs(Waiting&& waiting, std::vector<RefusedTurn>& refused) {
  std::vector<queue::Workload> gangs;
  std::vector<std::size_t> index;
  gangs.reserve(waiting.turns.size());
  index.reserve(waiting.turns.size());
  for (std::size_t i = 0; i < waiting.turns.size(); ++i) {
    index.push_back(gangs.size());
    if (waiting.turns[i].is_first) gangs.push_back(std::move(waiting.workloads[i]));
  }
  for (RefusedTurn& turn : refused) turn.workload = index[turn.workload];
  return gangs;
}

// The gang, which was refused, waits for a ResourceQuota, or for nodes that it has reserved.
bool may_keep_share(const GangWork& gang) {
  const auto* quota = gang.no_fit ? std::get_if<gang::OverQuota>(&*gang.no_fit) : nullptr;
  return quota != nullptr || gang.reservation;
}

// nullopt: a gang got its placements.
std::optional<QueueState> serve_once(CycleWork& work, Placer& placer, const queue::Facts& facts,
                                     LimitShares& shares) {
  placer.begin_pass();
  queue::Usage usage = count_use(work, facts, placer.ledger(), PreemptingUse::kBeyondVictims);
  bool is_any_placed = complete_committed(work, placer, ClassLimits(facts, placer.ledger(), usage));
  const queue::QueueTree& tree = facts.tree();
  Waiting waiting = collect_waiting(work, facts, placer);
  kube::Resources capacity = shared_capacity(tree, placer);
  queue::Backlog backlog(tree, capacity, std::move(usage), waiting.workloads);
  Restorer restorer(work, placer, ClassLimits(facts, placer.ledger(), backlog.edit_usage()));
  std::vector<RefusedTurn> refused;
  RefusedPlainPods refused_pods;
  // By workload: one may be offered twice, within quota and beyond it.
  std::vector<bool> is_refused(waiting.workloads.size());
  // By limits that are kept for gangs ahead: these end nothing, either.
  std::map<const GangWork*, queue::Inadmissible> kept_off;
  const auto note_refused = [&](const queue::Workload& workload) {
    const Turn& turn = waiting.turn(workload);
    const auto index = static_cast<std::size_t>(&workload - waiting.workloads.data());
    if (turn.gang == nullptr || is_refused[index]) return;
    is_refused[index] = true;
    refused.push_back({turn.group, turn.gang, index});
  };
  std::size_t held = 0;  // of backlog.held(): those whose share is kept
  const auto keep_for_held = [&] {
    for (; held < backlog.held().size(); ++held) {
      const auto& [workload, reason] = backlog.held()[held];
      const Turn& turn = waiting.turn(*workload);
      if (turn.gang == nullptr || !std::holds_alternative<queue::LimitExceeded>(reason)) continue;
      if (auto kept = shares.find_kept(*workload)) kept_off.emplace(turn.gang, *std::move(kept));
      shares.keep_for(*workload, *turn.group, *turn.gang, backlog.usage());
    }
  };
  while (const auto offer = backlog.next()) {
    keep_for_held();
    const Turn& turn = waiting.turn(*offer->workload);
    if (const auto kept = shares.find_kept(*offer->workload)) {
      hold(turn, *kept, placer);
      if (turn.gang != nullptr) kept_off.emplace(turn.gang, *kept);
      backlog.skip();
      continue;
    }
    restorer.restore_before(queue::rank(*offer->workload));
    const queue::ClassRequests before = count_classes_of(turn, facts, placer.ledger());
    if (place(*offer, turn, facts, placer, refused_pods)) {
      is_any_placed = true;
      queue::ClassRequests classes = count_classes_of(turn, facts, placer.ledger());
      for (const auto& [node_class, requests] : before) classes[node_class] -= requests;
      shares.charge(*offer->workload);
      backlog.place(classes);
    } else {
      backlog.skip();
      note_refused(*offer->workload);
      if (turn.gang != nullptr && may_keep_share(*turn.gang)) {
        shares.keep_for(*offer->workload, *turn.group, *turn.gang, backlog.usage());
      }
    }
  }
  restorer.restore_rest();
  keep_for_held();
  for (const auto& [workload, reason] : backlog.held()) {
    const Turn& turn = waiting.turn(*workload);
    const auto kept = kept_off.find(turn.gang);
    hold(turn, kept == kept_off.end() ? reason : kept->second, placer);
    if (std::holds_alternative<queue::LimitExceeded>(reason)) note_refused(*workload);
  }
  std::erase_if(refused, [&](const RefusedTurn& turn) { return kept_off.count(turn.gang) > 0; });
  is_any_placed = place_growing(work, placer, facts, backlog.usage(), shares) || is_any_placed;
  if (is_any_placed) return std::nullopt;
  set_positions(waiting, backlog.usage(), capacity, tree);
  auto gangs = list_gangs(std::move(waiting), refused);
  return QueueState{std::move(gangs), backlog.usage(), std::move(capacity), std::move(refused), {}};
}

}  // namespace

const gang::NoFit* find_shortage(const RefusedTurn& turn, const Placer& placer) {
  const GangWork& gang = *turn.gang;
  const bool is_all = gang.no_fit && !gang.is_committed() && may_place(*turn.group, gang) &&
                      !gang.claims_reserved() && !placer.is_over_quota(*turn.group, gang);
  return is_all ? &*gang.no_fit : nullptr;
}

QueueState start_waiting(const CycleFacts& facts, CycleWork& work, Placer& placer,
                         NextLook& next_look) {
  while (true) {
    LimitShares shares(facts, work, placer, next_look);
    if (auto state = serve_once(work, placer, facts.queues(), shares)) return *std::move(state);
  }
}

}  // namespace nervex::planner
