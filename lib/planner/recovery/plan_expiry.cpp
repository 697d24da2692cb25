#include "planner/recovery/plan_expiry.h"

#include <algorithm>
#include <set>

namespace nervex::planner {
namespace {

using std::chrono::milliseconds;

std::int64_t last_plan_number(const UncommittedPlan& gang) {
  std::int64_t last = 0;
  const gang::GangStatus* status = gang::find_gang(gang.group->status, gang.gang);
  for (const gang::Placement& placement : status->placements) {
    last = std::max(last, placement.number);
  }
  return last;
}

// The step that the plan missed, and its deadline.
struct Limit {
  MonoTime due;
  milliseconds waited;
};

Limit choose_limit(const UncommittedPlan& gang, bool all_refused, MonoTime since,
                   const PlanExpiryOptions& options) {
  if (all_refused) {
    const MonoTime complete = std::max(since, gang.last_created.value_or(since));
    return {complete + options.refused_deadline, options.refused_deadline};
  }
  const milliseconds longest = std::max(kLongestPlan, options.deadline);
  const Limit quiet{std::max(since, gang.last_moved.value_or(since)) + options.deadline,
                    options.deadline};
  const Limit in_all{since + longest, longest};
  return quiet.due <= in_all.due ? quiet : in_all;
}

}  // namespace

ExpiredPlans expire_plans(const std::vector<UncommittedPlan>& gangs, const PlanAges& ages,
                          MonoTime mono, SysTime now, const PlanExpiryOptions& options) {
  ExpiredPlans out;
  std::set<std::string_view> written;  // by UID; others follow with the next status
  const auto look_after = [&out](milliseconds left) {
    left = std::max(milliseconds(1), left);
    out.look_again = out.look_again ? std::min(*out.look_again, left) : left;
  };
  for (const UncommittedPlan& gang : gangs) {
    const std::string& uid = gang.group->meta.uid;
    const auto key = std::pair(uid, gang.gang);
    PlanAge age{last_plan_number(gang), gang.victims_due.has_value(), mono};
    const auto known = ages.find(key);
    const bool is_known = known != ages.end() && known->second.plan == age.plan &&
                          known->second.is_preempting == age.is_preempting;
    if (is_known) age = known->second;
    out.ages.emplace(key, age);  // even if expired: its write may be delayed
    if (gang.victims_due) {
      const auto left = std::max(*gang.victims_due - now,
                                 std::chrono::ceil<milliseconds>(age.since + kLateVictim - mono));
      if (left > left.zero() || written.count(uid) > 0) {
        look_after(left);
      } else if (auto status = expire_preemption(*gang.group, gang.gang, gang.is_counted, now)) {
        written.insert(uid);
        out.writes.emplace_back(gang.group, *std::move(status));
      }
      continue;
    }
    const bool all_refused = gang.pods > 0 && gang.refusals.size() == gang.pods;
    if (!all_refused && options.deadline.count() == 0) continue;
    const auto [due, waited] = choose_limit(gang, all_refused, age.since, options);
    if (due > mono || written.count(uid) > 0) {
      look_after(std::chrono::ceil<milliseconds>(due - mono));
      continue;
    }
    const UnboundPods pods{gang.pods, gang.gated, gang.pods - gang.created, gang.claiming,
                           gang.claim};
    auto status = all_refused ? refuse_plan(*gang.group, gang.gang, gang.refusals, now)
                              : expire_plan(*gang.group, gang.gang, pods, waited, now);
    if (!status) continue;
    written.insert(uid);
    out.writes.emplace_back(gang.group, *std::move(status));
  }
  return out;
}

}  // namespace nervex::planner
