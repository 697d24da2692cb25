// planner/bind/hold_rules.h - may the held bind calls of a gang continue? Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "planner/bind/bind_view.h"

namespace nervex::planner {

// What a held call waits for.
enum class HoldUntil {
  kAllHere,  // every member is bound or has a held call
  // Every member that is not itself bound last is bound; and if its pod was created with its node,
  // the kubelet has started it.
  kOthersBound,
  kQuorumHere,  // foreign gang: enough pods have a held call
};

struct HoldState {
  bool may_go = false;
  // Wanted slots whose pods the others wait for. They point into the GangSeen.
  std::vector<const MemberSeen*> missing;
};

// `held`: numbers of the placements whose pods have a held call. Once a gang is committed, only the
// pods that are bound last wait.
HoldState hold_state(const GangSeen& gang, const std::set<std::int64_t>& held, HoldUntil until);

// For a foreign gang.
struct QuorumState {
  bool is_reached = false;  // enough are here to start the gang
  // Pods that the others wait for: missing ones, or nominated ones that may still arrive.
  std::size_t lacking = 0;
};
// `held`: UIDs of the pods with a held call.
QuorumState quorum_state(const ForeignHoldSeen& gang,
                         const std::set<std::string, std::less<>>& held);

// "learner/2 (on n3), learner/7 (on n4) and 3 more"
std::string describe_missing(const std::vector<const MemberSeen*>& missing);

}  // namespace nervex::planner
