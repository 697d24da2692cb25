#include "extender/decide/unstarted.h"

#include <algorithm>
#include <set>

namespace nervex::extender {
namespace {

using std::chrono::milliseconds;

std::int64_t plan_of(const UnstartedGang& gang) {
  std::int64_t last = 0;
  const gang::GangStatus* status = gang::find_gang(gang.group->status, gang.gang);
  for (const gang::Placement& placement : status->placements) {
    last = std::max(last, placement.number);
  }
  return last;
}

}  // namespace

UnstartedResult give_up_unstarted(const std::vector<UnstartedGang>& gangs, const PlanAges& ages,
                                  SysTime now, const UnstartedOptions& options) {
  UnstartedResult out;
  std::set<std::string_view> written;  // by UID; the next one's turn comes with the next status
  for (const UnstartedGang& gang : gangs) {
    if (!gang.has_all_pods) continue;
    const std::string& uid = gang.group->meta.uid;
    const auto key = std::pair(uid, gang.gang);
    PlanAge age{plan_of(gang), now};
    const auto known = ages.find(key);
    if (known != ages.end() && known->second.plan == age.plan) {
      age.since = std::min(known->second.since, now);  // the clock may have been set back
    }
    const bool all_refused = gang.refusals.size() == gang.pods;
    const milliseconds limit = all_refused ? options.refused_deadline : options.deadline;
    if (limit.count() == 0) continue;
    const SysTime due = age.since + limit;
    if (due > now || written.count(uid) > 0) {
      const milliseconds left = std::max(milliseconds(1), due - now);
      out.look_again = out.look_again ? std::min(*out.look_again, left) : left;
      out.ages.emplace(key, age);
      continue;
    }
    auto status = all_refused
                      ? refuse_plan(*gang.group, gang.gang, gang.refusals, now)
                      : expire_plan(*gang.group, gang.gang, {gang.pods, gang.gated}, limit, now);
    if (!status) continue;
    written.insert(uid);
    out.writes.emplace_back(gang.group, *std::move(status));
  }
  return out;
}

}  // namespace nervex::extender
