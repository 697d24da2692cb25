#include "planner/preemption/preempt.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/preemption/victim_trials.h"
#include "planner/work/queue_use.h"
#include "planner/work/start_blocker.h"
#include "queue/settled.h"

namespace nervex::planner {
namespace {

using std::chrono::seconds;
using Outcome = gang::PreemptionOutcome;

// A search that found nothing is repeated after this, and so is one whose preemption was stopped
// before any victim was marked. What changes in between is not followed.
constexpr seconds kSearchAgain{30};
// When to look again if no victims were searched: the gang fits on what is ending, its own job is
// ending, or nervex-controller does not requeue what was preempted.
constexpr seconds kEndingLook{5};
// A search costs up to kMostTrials plans of the gang. So many in one cycle, then a pause.
constexpr int kMostSearches = 2;
constexpr seconds kPause{1};
constexpr std::size_t kMostTrials = 48;
constexpr const char* kNeverPreempts =
    "it preempts nothing: the preemptionPolicy of its PriorityClass is Never";
// As in the schema of PodGroups.
constexpr std::size_t kMostVictims = 1'024;

class Starter {
 public:
  Starter(const CycleFacts& facts, CycleWork& work, Placer& placer, const QueueState& queues,
          PreemptionMemory& memory, NextLook& next_look)
      : facts_(facts),
        tree_(facts.tree()),
        work_(work),
        placer_(placer),
        queues_(queues),
        mode_(facts.options.preemption),
        memory_(memory),
        now_(facts.now),
        next_look_(next_look) {}

  void run() {
    find_busy();
    std::map<GangKey, PreemptionMemory::Search> kept;
    std::vector<Due> due;
    for (const RefusedTurn& turn : queues_.refused) {
      const GangKey key(turn.group->seen->group->meta.uid, turn.gang->name);
      if (turn.gang->stopped_preemption == StoppedPreemption::kWithdrawn) {
        kept[key].again = now_ + kSearchAgain;
      }
      if (!may_search(turn)) continue;
      const auto known = memory_.searches.find(key);
      auto& search = kept[key];
      if (known == memory_.searches.end()) {
        search.again = now_;
      } else {
        search = known->second;
      }
      const std::string& queue = tree_[find_queue(turn)].name;
      if (const auto pause =
              find_preemption_pause(*turn.group, *turn.gang, queue, queues_.preemptions, now_)) {
        search = *pause;
        continue;
      }
      // A pause may end early: with its cause.
      if (search.outcome == Outcome::kBackOff) search = {now_, Outcome::kNotSearched};
      if (search.again <= now_) {
        due.push_back({&turn, &search});
      }
    }
    if (!placer_.reserved().has_new()) search_due(due);
    for (const RefusedTurn& turn : queues_.refused) {
      const auto at = kept.find({turn.group->seen->group->meta.uid, turn.gang->name});
      if (at == kept.end()) continue;
      if (turn.gang->no_fit) gang::note_preemption(*turn.gang->no_fit, at->second.outcome);
      if (at->second.again > now_) next_look_.at(at->second.again);
    }
    memory_.searches = std::move(kept);
  }

 private:
  struct Due {
    const RefusedTurn* turn = nullptr;
    PreemptionMemory::Search* search = nullptr;
  };

  void find_busy() {
    for (const GroupWork* group : work_.groups) {
      for (const GangWork& gang : group->gangs) {
        if (!gang.victims.empty()) busy_.insert(group->queue.name);
      }
    }
  }

  bool may_search(const RefusedTurn& turn) const {
    const queue::Queue& own = tree_[find_queue(turn)];
    const bool may_preempt =
        own.reclaim != queue::Queue::Reclaim::kNever || preempts_by_priority(find_queue(turn));
    if (!may_preempt || turn.gang->has_stopped_preempting()) return false;
    if (find_start_blocker(*turn.group, *turn.gang)) return false;
    const gang::NoFit* why = find_shortage(turn, placer_);
    if (why == nullptr) return false;
    const auto* rule = std::get_if<gang::NotAdmitted>(why);
    const bool is_shortage = std::holds_alternative<gang::InsufficientCapacity>(*why) ||
                             (rule != nullptr && !rule->resource.empty() && !rule->is_too_large);
    if (!is_shortage) return false;
    const bool never =
        queues_.waiting[turn.workload].never_preempts && own.reclaim != queue::Queue::Reclaim::kAny;
    if (never) turn.gang->note = kNeverPreempts;
    return !never;
  }
  queue::QueueIndex find_queue(const RefusedTurn& turn) const {
    return tree_.find(queues_.waiting[turn.workload].queue).value_or(queue::kRoot);
  }

  // Who has waited longest for a search comes first, and then the queues' order: otherwise one
  // queue with many gangs would delay all others.
  void search_due(std::vector<Due>& due) {
    std::erase_if(
        due, [this](const Due& one) { return busy_.count(tree_[find_queue(*one.turn)].name) > 0; });
    const auto oldest = std::min_element(due.begin(), due.end(), [](const Due& a, const Due& b) {
      return a.search->again < b.search->again;
    });
    if (oldest != due.end()) std::rotate(due.begin(), oldest, oldest + 1);
    int searches = 0;
    for (const auto& [turn, search] : due) {
      if (!is_next(*turn, searches)) continue;
      ++searches;
      *search = find_victims(*turn);
      // Its victims are not ending for a second search in this cycle.
      if (!turn->gang->victims.empty()) break;
    }
    if (searches > 0 && !memory_.asked) memory_.next_search = now_ + kPause;
  }
  bool is_next(const RefusedTurn& turn, int searches) {
    if (memory_.asked) {
      return *memory_.asked == GangKey(turn.group->seen->group->meta.uid, turn.gang->name);
    }
    const bool is_paused =
        now_ < memory_.next_search && memory_.next_search <= now_ + kLongestPause;
    if (!is_paused && searches < kMostSearches) return true;
    next_look_.at(std::max(memory_.next_search, now_ + kPause));
    return false;
  }

  // Nodes that are reserved for gangs before it.
  ReservedNodes::Indices find_closed(const RefusedTurn& turn) {
    ReservedNodes& reserved = placer_.reserved();
    if (reserved.empty()) return {};
    reserved.begin_pass();
    for (const RefusedTurn& before : queues_.refused) {
      reserved.reach(*before.gang);
      if (before.gang == turn.gang) break;
    }
    return reserved.find_closed(*turn.group, *turn.gang);
  }
  PreemptionMemory::Search find_victims(const RefusedTurn& turn) {
    if (!after_) after_.emplace(facts_, work_, count_use(work_, facts_.queues(), placer_.ledger()));
    if (after_->is_of_ending_job(*turn.group, *turn.gang))
      return {now_ + kEndingLook, Outcome::kNotSearched};
    if (after_->ending.is_requeue_late()) return {now_ + kEndingLook, Outcome::kControllerAway};
    const queue::QueueIndex queue = find_queue(turn);
    queue::Preemptor preemptor =
        queue::make_preemptor(tree_, after_->usage, queue, queues_.waiting[turn.workload]);
    PreemptionMemory::Search found = find_victims(turn, preemptor);
    // Beyond its quota it may use nodes of more classes, and preempt there by priority.
    if (found.outcome == Outcome::kNotSearched || !preempts_by_priority(queue) ||
        !queue::has_quota_caps(tree_, after_->usage, preemptor)) {
      return found;
    }
    preemptor.guarantor.reset();
    PreemptionMemory::Search beyond = find_victims(turn, preemptor);
    if (beyond.outcome == Outcome::kNotEnough) beyond.outcome = found.outcome;
    beyond.again = std::min(beyond.again, found.again);
    return beyond;
  }
  bool preempts_by_priority(queue::QueueIndex queue) const {
    return mode_ == queue::PreemptionMode::kFull &&
           tree_[queue].preemption != queue::Queue::Preemption::kNever;
  }
  PreemptionMemory::Search find_victims(const RefusedTurn& turn,
                                        const queue::Preemptor& preemptor) {
    const auto& candidates = after_->running.candidates();
    const auto preemptible =
        queue::find_preemptible(tree_, after_->usage, mode_, preemptor, candidates, now_);
    VictimTrials trials =
        make_trials(*after_, facts_.queues(), turn, preemptor, placer_, find_closed(turn));
    if (trials.fits_without({})) return {now_ + kEndingLook, Outcome::kNotSearched};
    const queue::VictimSearch found = queue::search_victims(
        preemptible,
        [&](std::span<const std::size_t> victims) { return trials.fits_without(victims); },
        kMostTrials);
    const bool is_too_many = found.victims.size() > kMostVictims;
    if (found.victims.empty() || is_too_many) {
      SysTime again = now_ + kSearchAgain;
      for (const queue::PreemptionCandidate& candidate : candidates) {
        const auto at = queue::preemptible_at(tree_, mode_, preemptor, candidate, now_);
        if (at) again = std::min(again, *at);
      }
      return {again, found.gave_up || trials.gave_up || is_too_many ? Outcome::kSearchGaveUp
                                                                    : Outcome::kNotEnough};
    }
    turn.gang->may_need_fewer = found.gave_up;
    start(turn, preemptor, found.victims, std::move(trials.placed));
    return {now_, Outcome::kNotSearched};
  }

  void start(const RefusedTurn& turn, const queue::Preemptor& preemptor,
             const std::vector<std::size_t>& victims, std::vector<PlacedSlot> placed) {
    GangWork& gang = *turn.gang;
    const std::string& ns = turn.group->seen->group->meta.ns;
    const RunningGangs& running = after_->running;
    for (const std::size_t victim : victims) {
      const queue::PreemptionCandidate& candidate = running.candidates()[victim];
      gang.victims.push_back(name_victim(running.gang(running.index(candidate.first())), ns));
      gang.victims.back().is_reclaimed =
          queue::find_home(tree_, candidate.first()) != preemptor.queue;
    }
    begin_preempting(*turn.group, gang, std::move(placed), tree_, preemptor.queue, placer_);
    next_look_.at(now_);  // when this is stored
  }

  static constexpr seconds kLongestPause{600};

  const CycleFacts& facts_;
  const queue::QueueTree& tree_;
  CycleWork& work_;
  Placer& placer_;
  const QueueState& queues_;
  const queue::PreemptionMode mode_;
  PreemptionMemory& memory_;
  const SysTime now_;
  NextLook& next_look_;
  std::set<std::string, std::less<>> busy_;  // queues with a gang that is preempting
  std::optional<AfterEnding> after_;         // only if there is a search
};

}  // namespace

void start_preemptions(const CycleFacts& facts, CycleWork& work, Placer& placer,
                       const QueueState& queues, PreemptionMemory& memory, NextLook& next_look) {
  if (facts.options.preemption == queue::PreemptionMode::kOff) {
    PreemptionMemory kept;  // of what was reclaimed for reservations
    kept.withdrawn = std::move(memory.withdrawn);
    kept.failed_starts = std::move(memory.failed_starts);
    memory = std::move(kept);
    return;
  }
  Starter(facts, work, placer, queues, memory, next_look).run();
}

}  // namespace nervex::planner
