// extender/decide/healing.h - a committed gang is not whole: since when, why, which nodes are kept
// away from, and when is it taken back? Pure.
//
// Committed is not finished: pods are lost with their nodes, rejected by kubelets, or cannot be
// bound. What runs is kept, and what is missing gets another place. A gang that is not whole for
// longer than the healing deadline is queued again by the controller, so that it does not run in
// part for ever: docs/adr/2026-11-22-healing.md.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "extender/decide/gang_work.h"

namespace nervex::extender {

struct HealingOptions {
  // A slot that kube-scheduler refuses for longer than this gets another node. As long may a gang
  // take to start before its status says that it is not whole.
  std::chrono::milliseconds bind_deadline{60'000};
  std::chrono::milliseconds deadline{300'000};  // 0: no gang is given up
};

// What is remembered from cycle to cycle, in memory alone: a restart costs the time of one bind
// deadline, or one more rejection.
struct HealingMemory {
  struct Incomplete {
    SysTime since{};
    std::string cause;
  };
  // By PodGroup UID and gang.
  std::map<std::pair<std::string, std::string>, Incomplete> incomplete;
  // How many rejections are known to the status, by PodGroup UID, set and node.
  std::map<std::tuple<std::string, std::string, std::string>, int> rejections;
};

struct Healing {
  HealingOptions options;
  HealingMemory memory;
};

// -- which nodes are kept away from?

// The PodGroup's status.avoid, with what kubelets have rejected since: a kubelet knows better than
// its node's allocatable. `to` gets what is to be remembered of the PodGroup.
std::vector<gang::AvoidedNode> note_rejections(const GroupSeen& seen,
                                               const std::vector<GangWork>& gangs, SysTime now,
                                               const HealingMemory& memory, HealingMemory& to);
// kube-scheduler has refused a pod of the set there for longer than the bind deadline.
void note_refusal(std::vector<gang::AvoidedNode>& avoid, const GangWork& gang,
                  const std::string& set, const std::string& node, SysTime now);

// -- is it whole?

struct HealingState {
  // When it ceased to be. While all that it lacks are slots whose last pod is still being deleted:
  // when the first of those will have ended, which may be in the future.
  SysTime since{};
  std::string cause;      // what was lost first
  bool is_shown = false;  // in the status; not of a gang that is only starting
  bool is_over = false;   // the deadline has passed
  std::optional<SysTime> deadline;
  std::optional<SysTime> look_again;  // what the clock alone will change next
};

// Of a gang after it was given what it can be given in this cycle; nullopt: it is whole, or was
// never committed. Quorum counts wanted slots whose pods are bound, or have finished by themselves.
std::optional<HealingState> judge_healing(const GangWork& work, SysTime now,
                                          const Healing& healing);

// What comes behind "learner: 1 of 4 do not fit: ...", or stands alone if all has a place.
std::string healing_text(const HealingState& state, bool all_placed);

}  // namespace nervex::extender
