#include "planner/preemption/failed_starts.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/recovery/refusals.h"

namespace nervex::planner {
namespace {

constexpr std::string_view kPodKind = "Pod";
// After a pause the number of failures is kept for so long.
constexpr std::chrono::hours kRememberFailures{1};
constexpr std::size_t kMostFailedStarts = 4'096;
// A namespace has at most so many, and cannot end the pauses of others.
constexpr std::size_t kMostOfNamespace = 64;

// Something that no object tells. A job of another name with equal pods fails for it, too.
StartCause name_pods(const gang::PodGroup& group) {
  return {group.meta.ns.str(), std::string(kPodKind), "",
          kube::annotation(group.meta, gang::kTemplatesAnnotation)};
}

// "ResourceClaim/gpus".
StartCause name_object(const gang::PodGroup& group, const std::string& object) {
  const auto slash = std::min(object.find('/'), object.size());
  return {group.meta.ns.str(), object.substr(0, slash),
          object.substr(std::min(slash + 1, object.size()))};
}

// What a gang's start may fail for, as far as its PodGroup tells.
std::vector<StartCause> list_causes(const gang::PodGroup& group, const gang::Gang& gang) {
  std::vector<StartCause> causes{name_pods(group)};
  for (const gang::MemberSet& set : gang.members) {
    for (const std::string& claim : set.shape.claims) {
      causes.push_back({group.meta.ns.str(), std::string(kClaimKind), claim});
    }
    for (const std::string& claim : set.resource_claims) {
      causes.push_back(name_object(group, claim));
    }
  }
  return causes;
}

// What its last start has failed for.
std::vector<StartCause> list_failed(const gang::PodGroup& group, const gang::GangStatus& gang) {
  std::vector<StartCause> causes;
  for (const std::string& claim : gang.refusals.waits_for) {
    const std::string name(name_claim(claim));
    causes.push_back({group.meta.ns.str(), std::string(kClaimKind), name});
  }
  if (!gang.refusals.cause.empty()) causes.push_back(name_object(group, gang.refusals.cause));
  if (causes.empty()) causes.push_back(name_pods(group));
  return causes;
}

class FailedStarts {
 public:
  FailedStarts(std::map<StartCause, FailedStart>& known, SysTime now) : known_(known), now_(now) {}

  void forget_old() {
    std::erase_if(known_, [this](const auto& one) {
      const SysTime until = one.second.until;
      return until + kRememberFailures <= now_ || until > now_ + 2 * kLongestFailurePause;
    });
    for (auto first = known_.begin(); first != known_.end();) {
      const auto end = std::find_if(
          first, known_.end(), [&](const auto& one) { return one.first.ns != first->first.ns; });
      forget_earliest(first, end, kMostOfNamespace);
      first = end;
    }
    forget_earliest(known_.begin(), known_.end(), kMostFailedStarts);
  }
  void note_started(const gang::PodGroup& group, const gang::Gang& gang) {
    const gang::GangStatus* status = gang::find_gang(group.status, gang.name);
    if (status == nullptr || !status->committed || !status->started_at) return;
    for (const StartCause& cause : list_causes(group, gang)) {
      const auto at = known_.find(cause);
      if (at != known_.end() && at->second.plan_after < *status->started_at) known_.erase(at);
    }
  }
  void note_failed(const gang::PodGroup& group, const GangWork& gang) {
    const gang::Gang& wanted = group.spec.gangs[gang.position];
    if (wanted.preempt_after && *wanted.preempt_after > now_) {  // the API server refused its pods
      FailedStart& failed = known_[name_pods(group)];
      failed.until = std::max(failed.until, *wanted.preempt_after);
    }
    const gang::GangStatus* status = gang.before;
    if (status == nullptr || status->refusals.count == 0) return;
    const SysTime plan_after = status->refusals.plan_after;
    if (!preempts_after(wanted, status, now_)) return;
    for (const StartCause& cause : list_failed(group, *status)) {
      FailedStart& failed = known_[cause];
      if (plan_after <= failed.plan_after) continue;
      failed.count = std::max(failed.count + 1, status->refusals.count);
      failed.plan_after = plan_after;
      failed.until = std::max(failed.until, plan_after + preemption_pause(failed.count));
    }
  }
  // A claim that can be used by now is no cause any more.
  std::optional<SysTime> find_pause(const GroupSeen& seen, const gang::Gang& gang) const {
    const auto is_usable = [&](const std::string& claim) {
      return std::none_of(seen.unusable_claims.begin(), seen.unusable_claims.end(),
                          [&](const std::string& one) { return name_claim(one) == claim; });
    };
    std::optional<SysTime> until;
    for (const StartCause& cause : list_causes(*seen.group, gang)) {
      const auto at = known_.find(cause);
      if (at == known_.end() || at->second.until <= now_) continue;
      if (cause.kind == kClaimKind && is_usable(cause.name)) continue;
      until = std::max(until.value_or(SysTime{}), at->second.until);
    }
    return until;
  }

 private:
  using Causes = std::map<StartCause, FailedStart>;
  static constexpr std::chrono::hours kLongestFailurePause{2};

  // Keeps `most` of [first, end), those whose pause ends last.
  void forget_earliest(Causes::iterator first, Causes::iterator end, std::size_t most) {
    const auto count = static_cast<std::size_t>(std::distance(first, end));
    if (count <= most) return;
    std::vector<Causes::iterator> all;
    for (; first != end; ++first) all.push_back(first);
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a->second.until < b->second.until;
    });
    for (std::size_t i = 0; i < count - most; ++i) known_.erase(all[i]);
  }

  Causes& known_;
  const SysTime now_;
};

bool may_preempt_later(const GroupWork& group, const GangWork& gang) {
  return !group.seen->unconfirmed && !gang.is_committed();
}

}  // namespace

void note_failed_starts(const CycleFacts& facts, CycleWork& work, PreemptionMemory& memory) {
  FailedStarts failed(memory.failed_starts, facts.now);
  failed.forget_old();
  for (const GroupWork* group : work.groups) {
    for (const GangWork& gang : group->gangs) {
      if (may_preempt_later(*group, gang)) failed.note_failed(*group->seen->group, gang);
    }
  }
  // After the failures, which the statuses repeat in each cycle: a later start ends their causes.
  if (!memory.failed_starts.empty()) {
    for (const RunningGroup& running : facts.snapshot.running) {
      for (const gang::Gang& gang : running.group->spec.gangs) {
        failed.note_started(*running.group, gang);
      }
    }
    for (const GroupSeen& seen : facts.snapshot.groups) {
      for (const gang::Gang& gang : seen.group->spec.gangs) {
        failed.note_started(*seen.group, gang);
      }
    }
  }
  if (memory.failed_starts.empty()) return;
  for (GroupWork* group : work.groups) {
    const auto& gangs = group->seen->group->spec.gangs;
    for (GangWork& gang : group->gangs) {
      if (!may_preempt_later(*group, gang)) continue;
      gang.preempts_after = failed.find_pause(*group->seen, gangs[gang.position]);
    }
  }
}

}  // namespace nervex::planner
