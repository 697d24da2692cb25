#include "extender/cycle/preempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "extender/cycle/next_look.h"
#include "extender/cycle/running_gangs.h"
#include "extender/cycle/victim_trials.h"
#include "queue/settled.h"

namespace nervex::extender {
namespace {

using std::chrono::seconds;
using Outcome = gang::PreemptionOutcome;

// While victims end; watches report it mostly.
constexpr seconds kPreemptingLook{5};
// A search that found nothing is repeated after this. What changes in between is not followed.
constexpr seconds kSearchAgain{30};
// Of each queue, the first gangs that wait; a few in one cycle, since a search costs up to
// kMostTrials plans of the gang. The others follow after a pause.
constexpr int kMostHeads = 4;
constexpr int kMostSearches = 2;
constexpr std::chrono::milliseconds kPause{200};
constexpr std::size_t kMostTrials = 48;
// As in the schema of PodGroups.
constexpr std::size_t kMostVictims = 1'024;

// ---- gangs that are preempting

bool is_preempting(const GroupWork& group, const GangWork& gang) {
  return !gang.victims.empty() && !gang.committed && !group.seen->unconfirmed;
}

void stop(GangWork& gang, Ledger& ledger) {
  gang.victims.clear();
  ledger.note_dropped_plan();
}

bool are_nodes_allowed(const GangWork& gang, const Ledger& ledger) {
  return std::all_of(gang.placed.begin(), gang.placed.end(), [&](const PlacedSlot& slot) {
    return ledger.is_allowed(*slot.set, slot.placement.node);
  });
}

// The victim has not started again since it was chosen.
bool is_same_start(const GangWork& gang, const gang::Victim& victim) {
  return std::any_of(gang.placed.begin(), gang.placed.end(), [&](const PlacedSlot& slot) {
    return slot.placement.number != 0 && slot.placement.number <= victim.through;
  });
}

std::string describe(const GroupWork& preemptor, const GroupWork& group, bool is_reclaimed) {
  const auto name = [](const GroupWork& one) {
    return one.queue.name.empty() ? std::string("the root") : "queue " + one.queue.name;
  };
  if (!is_reclaimed) {
    return fmt::format(
        "preempted by a workload of higher priority in {}: the gang is requeued and keeps its "
        "place",
        name(group));
  }
  return fmt::format(
      "preempted: {} takes back capacity within its quota; the gang is requeued and keeps its "
      "place",
      name(preemptor));
}

class Groups {
 public:
  explicit Groups(const CycleWork& work) {
    for (GroupWork* group : work.groups) by_uid_.emplace(group->seen->group->meta.uid, group);
  }
  GroupWork* find(std::string_view uid) const {
    const auto at = by_uid_.find(uid);
    return at == by_uid_.end() ? nullptr : at->second;
  }

 private:
  std::map<std::string_view, GroupWork*> by_uid_;
};

void mark(const GroupWork& preemptor, const gang::Victim& victim, const Groups& groups) {
  GroupWork* group = groups.find(victim.pod_group_uid);
  if (group == nullptr || group->is_left_alone()) return;
  for (GangWork& gang : group->gangs) {
    if (gang.name != victim.gang || !gang.is_stored_committed || !gang.preempted.empty()) continue;
    if (is_same_start(gang, victim))
      gang.preempted = describe(preemptor, *group, victim.is_reclaimed);
  }
}

bool are_all_gone(const GroupSeen& seen, const GangWork& gang) {
  const auto states = seen.victims.find(gang.name);
  return states == seen.victims.end() ||
         std::all_of(states->second.begin(), states->second.end(),
                     [](VictimState state) { return state == VictimState::kGone; });
}

}  // namespace

VictimState judge_victim(const gang::PodGroup* group, const gang::Victim& victim) {
  const gang::GangStatus* gang =
      group == nullptr ? nullptr : gang::find_gang(group->status, victim.gang);
  if (gang == nullptr || !gang->committed) return VictimState::kGone;
  const bool is_same = std::any_of(
      gang->placements.begin(), gang->placements.end(),
      [&](const gang::Placement& placement) { return placement.number <= victim.through; });
  return is_same ? VictimState::kRuns : VictimState::kGone;
}

void continue_preemptions(CycleWork& work, Placer& placer, SysTime now,
                          std::optional<SysTime>& next_look) {
  std::optional<Groups> groups;
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      if (!is_preempting(*group, gang)) continue;
      Ledger& ledger = placer.ledger_for(*group);
      const bool is_changed = !gang.missing.empty() || group->is_drained;
      if (is_changed || !are_nodes_allowed(gang, ledger)) {
        stop(gang, ledger);
        continue;
      }
      recheck(gang, ledger);
      if (gang.is_reserved) {
        gang.victims.clear();
        continue;
      }
      if (are_all_gone(*group->seen, gang)) {
        stop(gang, ledger);
        continue;
      }
      take_unchecked(gang, ledger);
      if (!groups) groups.emplace(work);
      for (const gang::Victim& victim : gang.victims) mark(*group, victim, *groups);
      placer.waits_otherwise = true;  // for the capacity of its victims
      look_by(next_look, now + kPreemptingLook);
    }
  }
}

namespace {

// ---- which gangs search

class Starter {
 public:
  Starter(const Snapshot& snapshot, CycleWork& work, Placer& placer, const QueueState& queues,
          queue::PreemptionMode mode, PreemptionMemory& memory, SysTime now,
          std::optional<SysTime>& next_look)
      : snapshot_(snapshot),
        tree_(snapshot.facts.tree()),
        work_(work),
        placer_(placer),
        queues_(queues),
        mode_(mode),
        memory_(memory),
        now_(now),
        next_look_(next_look),
        usage_(queues.usage) {}

  void run() {
    note_times();
    std::map<GangKey, PreemptionMemory::Search> kept;
    for (const RefusedTurn& turn : queues_.refused) {
      if (!may_search(turn)) continue;
      const GangKey key(turn.group->seen->group->meta.uid, turn.gang->name);
      PreemptionMemory::Search search = try_turn(turn, key);
      if (search.outcome == Outcome::kNotSearched) continue;
      tell(*turn.gang, search.outcome);
      look_by(next_look_, search.again);
      kept.insert_or_assign(key, search);
    }
    memory_.searches = std::move(kept);
  }

 private:
  // A gang that is preempting proves when its queue did, even if the queue's status does not yet.
  void note_times() {
    const auto note = [&](const std::string& queue, SysTime time) {
      auto& times = memory_.times[queue];
      const auto at = std::lower_bound(times.begin(), times.end(), time);
      if (at == times.end() || *at != time) times.insert(at, time);
    };
    for (queue::QueueIndex i = queue::kRoot + 1; i < tree_.size(); ++i) {
      for (const SysTime time : tree_[i].preemptions) note(tree_[i].name, time);
    }
    for (const GroupWork* group : work_.groups) {
      for (const GangWork& gang : group->gangs) {
        if (gang.victims.empty()) continue;
        busy_.insert(group->queue.name);
        if (gang.before != nullptr) note(group->queue.name, gang.before->since);
      }
    }
    for (auto& [queue, times] : memory_.times) queue::forget_old_preemptions(times, now_);
    std::erase_if(memory_.times, [](const auto& entry) { return entry.second.empty(); });
  }

  bool may_search(const RefusedTurn& turn) const {
    const GangWork& gang = *turn.gang;
    if (gang.is_whole() || gang.committed || !gang.no_fit || !may_place(*turn.group, gang)) {
      return false;
    }
    const auto* rule = std::get_if<gang::NotAdmitted>(&*gang.no_fit);
    const bool is_shortage = std::holds_alternative<gang::InsufficientCapacity>(*gang.no_fit) ||
                             (rule != nullptr && !rule->resource.empty() && !rule->is_too_large);
    if (!is_shortage || gang.claims_reserved()) return false;
    const queue::Queue& own = tree_[find_queue(turn)];
    return own.reclaim != queue::Queue::Reclaim::kNever ||
           (mode_ == queue::PreemptionMode::kFull &&
            own.preemption != queue::Queue::Preemption::kNever);
  }
  queue::QueueIndex find_queue(const RefusedTurn& turn) const {
    return tree_.find(queues_.waiting[turn.workload].queue).value_or(queue::kRoot);
  }

  PreemptionMemory::Search try_turn(const RefusedTurn& turn, const GangKey& key) {
    const std::string& queue = tree_[find_queue(turn)].name;
    const auto known = memory_.searches.find(key);
    if (known != memory_.searches.end() && known->second.again > now_) {
      ++heads_[queue];
      return known->second;
    }
    if (busy_.count(queue) > 0) return {};
    if (const auto times = memory_.times.find(queue);
        times != memory_.times.end() && times->second.size() >= queue::kMostPreemptions) {
      return {times->second.front() + queue::kPreemptionPeriod, Outcome::kRateLimited};
    }
    if (placer_.is_over_quota(*turn.group, *turn.gang)) return {};
    if (++heads_[queue] > kMostHeads) return {};
    if (searches_ == kMostSearches) {
      look_by(next_look_, now_ + kPause);
      return {};
    }
    ++searches_;
    return search(turn);
  }

  PreemptionMemory::Search search(const RefusedTurn& turn) {
    if (!running_) begin();
    const queue::Workload& workload = queues_.waiting[turn.workload];
    const queue::Preemptor preemptor =
        queue::make_preemptor(tree_, usage_, find_queue(turn), workload);
    const auto preemptible =
        queue::find_preemptible(tree_, usage_, mode_, preemptor, running_->candidates(), now_);
    GangWork empty = *turn.gang;
    forget_placements(empty);
    VictimTrials trials(snapshot_.facts, usage_, preemptor, empty, *running_,
                        placer_.ledger_for(*turn.group));
    const queue::VictimSearch found = queue::search_victims(
        preemptible,
        [&](std::span<const std::size_t> victims) { return trials.fits_without(victims); },
        kMostTrials);
    const bool is_too_many = found.victims.size() > kMostVictims;
    if (found.victims.empty() || is_too_many) {
      SysTime again = now_ + kSearchAgain;
      for (const queue::PreemptionCandidate& candidate : running_->candidates()) {
        const auto at = queue::preemptible_at(tree_, mode_, preemptor, candidate, now_);
        if (at) again = std::min(again, *at);
      }
      return {again, found.gave_up || trials.gave_up || is_too_many ? Outcome::kSearchGaveUp
                                                                    : Outcome::kNotEnough};
    }
    turn.gang->may_need_fewer = found.gave_up;
    start(turn, preemptor, found.victims, std::move(trials.placed));
    return {};
  }

  void begin() {
    running_.emplace(snapshot_, work_);
    for (const queue::Workload* ending : running_->ending()) {
      usage_.remove(tree_, queue::find_home(tree_, *ending), *ending);
    }
  }

  void start(const RefusedTurn& turn, const queue::Preemptor& preemptor,
             const std::vector<std::size_t>& victims, std::vector<PlacedSlot> placed) {
    GangWork& gang = *turn.gang;
    const std::string& ns = turn.group->seen->group->meta.ns;
    for (const std::size_t victim : victims) {
      const queue::PreemptionCandidate& candidate = running_->candidates()[victim];
      gang.victims.push_back(name_victim(running_->gang(running_->index(candidate.first())), ns));
      gang.victims.back().is_reclaimed =
          queue::find_home(tree_, candidate.first()) != preemptor.queue;
    }
    std::set<const queue::Workload*> ended;
    for (const std::size_t victim : victims) {
      for (const queue::Workload* one : running_->candidates()[victim].workloads) {
        if (ended.insert(one).second) usage_.remove(tree_, queue::find_home(tree_, *one), *one);
      }
    }
    usage_.add(tree_, preemptor.queue, *preemptor.workload);
    running_->remove(victims);
    placer_.reserve(*turn.group, gang, std::move(placed));
    placer_.waits_otherwise = true;
    const std::string& queue = tree_[preemptor.queue].name;
    busy_.insert(queue);
    memory_.times[queue].push_back(now_);
    if (gang.kind == gang::GangKind::kBase) {
      turn.group->queue.position = 0;
      turn.group->queue.max_runtime_seconds = tree_.max_runtime_seconds(preemptor.queue);
    }
    look_by(next_look_, now_);  // the victims are marked when this is stored
  }

  // Names of other namespaces are private.
  static gang::Victim name_victim(const RunningGang& gang, std::string_view ns) {
    gang::Victim victim{gang.group->meta.uid, gang.spec->name};
    for (const gang::Placement& placement : gang.status->placements) {
      victim.through = std::max(victim.through, placement.number);
    }
    if (gang.group->meta.ns == ns) victim.pod_group = gang.group->meta.name;
    return victim;
  }

  static void tell(GangWork& gang, Outcome outcome) {
    if (!gang.no_fit) return;
    if (auto* cause = std::get_if<gang::InsufficientCapacity>(&*gang.no_fit)) {
      cause->preemption = outcome;
    }
  }

  const Snapshot& snapshot_;
  const queue::QueueTree& tree_;
  CycleWork& work_;
  Placer& placer_;
  const QueueState& queues_;
  const queue::PreemptionMode mode_;
  PreemptionMemory& memory_;
  const SysTime now_;
  std::optional<SysTime>& next_look_;
  queue::Usage usage_;                       // as if all victims had ended
  std::set<std::string, std::less<>> busy_;  // queues with a gang that is preempting
  std::optional<RunningGangs> running_;
  int searches_ = 0;
  std::map<std::string, int, std::less<>> heads_;  // that searched or would, by queue
};

}  // namespace

void start_preemptions(const Snapshot& snapshot, CycleWork& work, Placer& placer,
                       const QueueState& queues, queue::PreemptionMode mode,
                       PreemptionMemory& memory, SysTime now, std::optional<SysTime>& next_look) {
  if (mode == queue::PreemptionMode::kOff || !snapshot.facts.tree().uses_preemption()) {
    memory = {};
    return;
  }
  Starter(snapshot, work, placer, queues, mode, memory, now, next_look).run();
}

}  // namespace nervex::extender
