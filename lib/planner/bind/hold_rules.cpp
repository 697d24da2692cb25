#include "planner/bind/hold_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "gang/slot.h"

namespace nervex::planner {
namespace {

using Pod = MemberSeen::Pod;

constexpr std::size_t kMostNamed = 3;

bool is_missing(const GangSeen& gang, const MemberSeen& member, const std::set<std::int64_t>& held,
                HoldUntil until) {
  if (gang::may_wait(*member.set, member.slot, gang.committed)) return false;
  if (until == HoldUntil::kOthersBound) return !member.set->bind_last && member.pod != Pod::kBound;
  if (member.pod != Pod::kUnbound) return false;
  return !member.placement || held.count(member.placement->number) == 0;
}

std::string describe(const MemberSeen& member) {
  const std::string key = gang::slot_key(member.set->role, member.slot.ordinal);
  if (!member.placement) return key + " (no node yet)";
  const auto* more = member.pod == Pod::kNotStarted ? ", whose kubelet has not started it" : "";
  return fmt::format("{} (on {}{})", key, member.placement->node, more);
}

}  // namespace

HoldState hold_state(const GangSeen& gang, const std::set<std::int64_t>& held, HoldUntil until) {
  HoldState state;
  if (until == HoldUntil::kAllHere && gang.committed) return {true, {}};
  for (const MemberSeen& member : gang.members) {
    if (is_missing(gang, member, held, until)) state.missing.push_back(&member);
  }
  state.may_go = state.missing.empty();
  return state;
}

QuorumState quorum_state(const ForeignHoldSeen& gang,
                         const std::set<std::string, std::less<>>& held) {
  QuorumState state;
  const auto here = static_cast<std::int64_t>(held.size());
  state.is_reached = here >= gang.needed;
  for (const auto& [uid, node] : gang.nominated) {
    if (held.count(uid) == 0) ++state.lacking;
  }
  if (!state.is_reached) {
    state.lacking = std::max(state.lacking, static_cast<std::size_t>(gang.needed - here));
  }
  return state;
}

std::string describe_missing(const std::vector<const MemberSeen*>& missing) {
  std::string text;
  for (std::size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i) {
    text += (i == 0 ? "" : ", ") + describe(*missing[i]);
  }
  if (missing.size() > kMostNamed) {
    text += fmt::format(" and {} more", missing.size() - kMostNamed);
  }
  return text;
}

}  // namespace nervex::planner
