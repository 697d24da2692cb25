#include "planner/work/start_blocker.h"

#include <algorithm>
#include <chrono>

#include "planner/recovery/refusals.h"

namespace nervex::planner {
namespace {

// The controller checks a gang within seconds.
constexpr std::chrono::seconds kSlowCheck{30};

std::string describe_blocker(const gang::StartBlocker& blocker, const GangWork& gang, SysTime now,
                             NextLook& next_look) {
  if (blocker.kind.empty()) {
    const SysTime due = (gang.before == nullptr ? now : gang.before->since) + kSlowCheck;
    if (now < due) {
      next_look.at(due);
      return "";
    }
  }
  return "nothing ends and no node is reserved for it, because it could not start: " +
         blocker.message;
}

}  // namespace

std::optional<gang::StartBlocker> find_start_blocker(const GroupWork& group, const GangWork& gang) {
  using State = gang::StartCheck::State;
  const gang::Gang& wanted = group.seen->group->spec.gangs[gang.position];
  const gang::StartCheck& check = wanted.start_check;
  if (check.state == State::kBlocked) return check.blocker;
  const auto claims = select_claims(wanted, group.seen->unusable_claims);
  if (auto claim = find_unusable_claim(claims, gang.before)) return claim;
  if (check.state != State::kPending) return std::nullopt;
  return gang::StartBlocker{"", "",
                            "the controller (deployment nervex-operator) has not checked yet "
                            "whether its pods can be created"};
}

std::optional<gang::NotAdmitted> find_missing_claim(const GroupWork& group, const GangWork& gang) {
  const gang::StartCheck& check = group.seen->group->spec.gangs[gang.position].start_check;
  const std::string& kind = check.blocker.kind;
  const bool is_missing = check.state == gang::StartCheck::State::kBlocked &&
                          (kind == "ResourceClaim" || kind == "ResourceClaimTemplate");
  if (!is_missing || gang.is_committed()) return std::nullopt;
  return gang::NotAdmitted{std::string(gang::kReasonClaimMissing), "", "", check.blocker.message};
}

void note_start_blockers(CycleWork& work, SysTime now, NextLook& next_look) {
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      const bool waits = gang.no_fit && !gang.is_committed() && !find_missing_claim(*group, gang);
      const auto blocker = waits ? find_start_blocker(*group, gang) : std::nullopt;
      if (blocker) gang.note = describe_blocker(*blocker, gang, now, next_look);
    }
  }
}

std::optional<SysTime> find_failure_pause(const GroupWork& group, const GangWork& gang,
                                          SysTime now) {
  const gang::Gang& spec = group.seen->group->spec.gangs[gang.position];
  const auto own = preempts_after(spec, gang.before, now);
  return std::max(own, gang.preempts_after);  // nullopt is less than any time
}

}  // namespace nervex::planner
