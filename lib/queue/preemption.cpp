#include "queue/preemption.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "queue/admission.h"
#include "queue/settled.h"
#include "queue/share.h"

namespace nervex::queue {
namespace {

bool is_part_of(const QueueTree& tree, QueueIndex queue, QueueIndex ancestor) {
  while (queue != ancestor && queue != kRoot) queue = tree.parent(queue);
  return queue == ancestor;
}

QueueIndex find_common(const QueueTree& tree, QueueIndex a, QueueIndex b) {
  while (a != b) {
    QueueIndex& deeper = tree.depth(a) >= tree.depth(b) ? a : b;
    deeper = tree.parent(deeper);
  }
  return a;
}

int end_cost(const Workload& workload) {
  if (workload.is_elastic) return 0;
  return workload.kind == gang::GangKind::kBase ? 2 : 1;
}

// May this one be ended for the other, apart from ages and quotas?
bool is_allowed(const QueueTree& tree, PreemptionMode mode, const Preemptor& preemptor,
                const Workload& victim) {
  if (mode == PreemptionMode::kOff || !victim.kind || !preemptor.workload->kind) return false;
  if (victim.state != Workload::State::kRunning || !victim.started_at) return false;
  if (victim.grace && *victim.grace + kVictimMarkTime > kLongestPreemption) return false;
  const Queue& own = tree[preemptor.queue];
  const bool is_lower =
      victim.priority < preemptor.workload->priority && !preemptor.workload->never_preempts;
  const QueueIndex home = find_home(tree, victim);
  if (home == preemptor.queue) {
    return mode == PreemptionMode::kFull && own.preemption == Queue::Preemption::kLowerPriority &&
           is_lower;
  }
  if (!preemptor.guarantor || is_part_of(tree, home, *preemptor.guarantor)) return false;
  return own.reclaim == Queue::Reclaim::kAny ||
         (own.reclaim == Queue::Reclaim::kLowerPriority && is_lower);
}

// When it has run for long enough; nullopt: not known. A job is as old as its base gang: a job that
// keeps adding requests would never end otherwise.
std::optional<SysTime> protected_until(const QueueTree& tree,
                                       const PreemptionCandidate& candidate) {
  const Workload& first = candidate.first();
  if (!first.started_at) return std::nullopt;
  return *first.started_at + std::chrono::seconds(tree[find_home(tree, first)].min_runtime_seconds);
}

// Of each resource that the preemptor is guaranteed and the queue had borrowed, all that ended was
// borrowed; and something was.
bool was_borrowed(const Bounds& guaranteed, const kube::Resources& wanted,
                  const kube::Resources& before, const kube::Resources& after,
                  const kube::Resources& ended) {
  bool is_any = false;
  for (const ResourceBound& bound : guaranteed) {
    const std::int64_t gone = ended.get(bound.resource);
    const std::int64_t excess = before.get(bound.resource);
    if (wanted.get(bound.resource) <= 0 || excess <= 0 || gone <= 0) continue;
    if (excess - after.get(bound.resource) != gone) return false;
    is_any = true;
  }
  return is_any;
}

// What queues use while candidates end one after the other.
class Ending {
 public:
  Ending(const QueueTree& tree, const Usage& usage, const Preemptor& preemptor)
      : tree_(tree), preemptor_(preemptor), usage_(usage) {}

  // False, and nothing changes: it would take a queue below its quota, or come back within it.
  bool try_end(const PreemptionCandidate& candidate) {
    const QueueIndex home = find_home(tree_, candidate.first());
    if (home == preemptor_.queue) return true;  // by priority: quotas have no say
    const QueueIndex common = find_common(tree_, home, preemptor_.queue);
    std::vector<kube::Resources> before;
    for (QueueIndex queue = home; queue != common; queue = tree_.parent(queue)) {
      before.push_back(borrowed(tree_, usage_, queue));
    }
    std::vector<const Workload*> ended;  // a gang may have ended before its job does
    kube::Resources requests;
    for (const Workload* workload : candidate.workloads) {
      if (!ended_.insert(workload).second) continue;
      ended.push_back(workload);
      requests += workload->requests;
      usage_.remove(tree_, home, *workload);
    }
    auto at = before.begin();
    for (QueueIndex queue = home; queue != common; queue = tree_.parent(queue), ++at) {
      const bool may_end =
          was_borrowed(tree_.quota(*preemptor_.guarantor), preemptor_.workload->requests, *at,
                       borrowed(tree_, usage_, queue), requests) &&
          !fits_quota(tree_, usage_, queue, candidate.first());
      if (may_end) continue;
      for (const Workload* workload : ended) {
        ended_.erase(workload);
        usage_.add(tree_, home, *workload);
      }
      return false;
    }
    return true;
  }

 private:
  const QueueTree& tree_;
  const Preemptor& preemptor_;
  Usage usage_;
  std::set<const Workload*> ended_;
};

}  // namespace

Preemptor make_preemptor(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                         const Workload& workload) {
  Preemptor preemptor{&workload, queue};
  for (QueueIndex each = queue; each != kRoot; each = tree.parent(each)) {
    if (!fits_quota(tree, usage, each, workload)) continue;
    preemptor.guarantor = each;
    break;
  }
  return preemptor;
}

bool has_quota_caps(const QueueTree& tree, const Usage& usage, const Preemptor& preemptor) {
  const auto find = [&](std::optional<QueueIndex> guarantor) {
    return find_caps(tree, usage, preemptor.queue, *preemptor.workload, guarantor);
  };
  return preemptor.guarantor && find(preemptor.guarantor) != find(std::nullopt);
}

void sort_by_cost(std::vector<PreemptionCandidate>& candidates) {
  std::sort(candidates.begin(), candidates.end(),
            [](const PreemptionCandidate& a, const PreemptionCandidate& b) {
              const auto key = [](const Workload& workload) {
                return std::tuple(end_cost(workload), workload.priority);
              };
              const Workload& x = a.first();
              const Workload& y = b.first();
              if (key(x) != key(y)) return key(x) < key(y);
              if (x.started_at != y.started_at) return x.started_at > y.started_at;
              return x.id < y.id;
            });
}

bool ends_in_time(const Workload& victim, const Workload& preemptor, SysTime now) {
  return gains_enough(preemptor,
                      now + kVictimMarkTime + victim.grace.value_or(std::chrono::seconds(0)));
}

bool may_preempt(const QueueTree& tree, PreemptionMode mode, const Preemptor& preemptor,
                 const PreemptionCandidate& candidate, SysTime now) {
  if (!is_allowed(tree, mode, preemptor, candidate.first())) return false;
  if (!ends_in_time(candidate.first(), *preemptor.workload, now)) return false;
  const auto until = protected_until(tree, candidate);
  return until && *until <= now;
}

bool may_reclaim_any(const QueueTree& tree, PreemptionMode mode, QueueIndex queue,
                     QueueIndex from) {
  const bool is_allowed =
      mode != PreemptionMode::kOff && tree[queue].reclaim == Queue::Reclaim::kAny && queue != from;
  if (!is_allowed) return false;
  for (QueueIndex each = queue; each != kRoot; each = tree.parent(each)) {
    if (!tree.quota(each).empty() && !is_part_of(tree, from, each)) return true;
  }
  return false;
}

std::optional<SysTime> preemptible_at(const QueueTree& tree, PreemptionMode mode,
                                      const Preemptor& preemptor,
                                      const PreemptionCandidate& candidate, SysTime now) {
  if (!is_allowed(tree, mode, preemptor, candidate.first())) return std::nullopt;
  const auto until = protected_until(tree, candidate);
  return until && *until > now ? until : std::nullopt;
}

std::vector<std::size_t> find_preemptible(const QueueTree& tree, const Usage& usage,
                                          PreemptionMode mode, const Preemptor& preemptor,
                                          std::span<const PreemptionCandidate> candidates,
                                          SysTime now) {
  std::vector<std::size_t> found;
  Ending ending(tree, usage, preemptor);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!may_preempt(tree, mode, preemptor, candidates[i], now)) continue;
    if (ending.try_end(candidates[i])) found.push_back(i);
  }
  return found;
}

namespace {

class Searcher {
 public:
  Searcher(std::span<const std::size_t> preemptible, const FitsWithout& fits, std::size_t most)
      : preemptible_(preemptible), fits_(fits), most_(most) {}

  VictimSearch run() {
    if (!find_prefix()) return std::move(result_);
    keep_used();
    spare(0, result_.victims.size());
    return std::move(result_);
  }

 private:
  bool fits(std::span<const std::size_t> victims) {
    if (result_.trials == most_) {
      result_.gave_up = true;
      return false;
    }
    ++result_.trials;
    auto used = fits_(victims);
    if (!used) return false;
    used_ = *std::move(used);
    return true;
  }
  bool fits_prefix(std::size_t count) {
    if (!fits(preemptible_.first(count))) return false;
    result_.victims.assign(preemptible_.begin(),
                           preemptible_.begin() + static_cast<std::ptrdiff_t>(count));
    return true;
  }

  // Doubling, because few victims are enough nearly always; all of them first, because a proof that
  // nothing helps then costs one trial.
  bool find_prefix() {
    if (preemptible_.empty() || !fits_prefix(preemptible_.size())) return false;
    std::size_t low = 0;  // it does not fit without this many
    std::size_t high = preemptible_.size();
    for (std::size_t count = 1; count < high; count *= 2) {
      if (fits_prefix(count)) {
        high = count;
        break;
      }
      low = count;
    }
    while (low + 1 < high && !result_.gave_up) {
      const std::size_t middle = low + (high - low) / 2;
      (fits_prefix(middle) ? high : low) = middle;
    }
    return true;
  }

  // Most of a prefix has its capacity elsewhere.
  void keep_used() {
    std::vector<std::size_t> used;
    for (const std::size_t victim : result_.victims) {
      if (std::find(used_.begin(), used_.end(), victim) != used_.end()) used.push_back(victim);
    }
    if (used.size() < result_.victims.size() && !used.empty() && fits(used)) {
      result_.victims = std::move(used);
    }
  }

  // Tries to spare the victims of [low, high) together, else each half, the more costly one first.
  // What is needed beside more victims is needed beside fewer: so none has to be tried twice.
  void spare(std::size_t low, std::size_t high) {
    if (low == high || result_.gave_up || result_.victims.size() == 1) return;
    std::vector<std::size_t> rest = result_.victims;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(low),
               rest.begin() + static_cast<std::ptrdiff_t>(high));
    if (!rest.empty() && fits(rest)) {
      result_.victims = std::move(rest);
      return;
    }
    if (high - low == 1) return;
    const std::size_t middle = low + (high - low) / 2;
    spare(middle, high);
    spare(low, middle);
  }

  std::span<const std::size_t> preemptible_;
  const FitsWithout& fits_;
  const std::size_t most_;
  VictimSearch result_;
  std::vector<std::size_t> used_;  // of the last trial that fit
};

}  // namespace

VictimSearch search_victims(std::span<const std::size_t> preemptible, const FitsWithout& fits,
                            std::size_t most_trials) {
  return Searcher(preemptible, fits, most_trials).run();
}

bool is_counted(const QueueTree& tree, std::string_view queue, SysTime began) {
  const auto index = tree.find(queue);
  if (!index || *index == kRoot) return true;
  const auto& times = tree[*index].preemptions;
  return std::find(times.begin(), times.end(), began) != times.end();
}

void forget_old_preemptions(std::vector<SysTime>& times, SysTime now) {
  std::erase_if(times, [now](SysTime time) {
    return time + kPreemptionPeriod <= now || time > now + kPreemptionPeriod;
  });
}

}  // namespace nervex::queue
