// extender/healing.h - a committed gang is not whole: since when, why, which nodes are kept away
// from, and when is it given up? Pure.
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

#include "extender/gang_work.h"

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
  struct Avoided {
    int rejections = 0;  // as often as the snapshot said
    int refusals = 0;    // by kube-scheduler
    SysTime until{};
  };
  // By PodGroup UID and gang; by PodGroup UID, role and node.
  std::map<std::pair<std::string, std::string>, Incomplete> incomplete;
  std::map<std::tuple<std::string, std::string, std::string>, Avoided> avoided;
};

struct Healing {
  HealingOptions options;
  HealingMemory memory;
};

// -- which nodes are kept away from?

// After the n-th rejection of its role's pods a node is kept away from for a minute, doubling, at
// most 10 min: the kubelet knows better than the node's allocatable.
void note_rejections(const std::string& uid, const std::vector<NodeRejections>& rejections,
                     SysTime now, HealingMemory& memory);
// kube-scheduler has refused it for longer than the bind deadline.
void note_refusal(const std::string& uid, const AvoidedNode& node, SysTime now,
                  HealingMemory& memory);
// Copies what is known of one PodGroup.
void keep_avoided(const std::string& uid, const HealingMemory& from, HealingMemory& to);
// The first time at which one of its nodes is no longer kept away from.
std::optional<SysTime> avoidance_ends(const std::string& uid, SysTime now,
                                      const HealingMemory& memory);
std::vector<AvoidedNode> avoided_nodes(const std::string& uid, SysTime now,
                                       const HealingMemory& memory);

// -- is it whole?

struct HealingState {
  SysTime since{};        // when it ceased to be
  std::string cause;      // what was lost first
  bool is_shown = false;  // in the status; not of a gang that is only starting
  bool is_over = false;   // the deadline has passed
  std::optional<SysTime> deadline;
  std::optional<SysTime> look_again;  // what the clock alone will change next
};

// Of a gang after it was given what it can be given in this cycle; nullopt: it is whole, or was
// never committed. Quorum counts wanted slots whose pods are bound, or have finished by themselves.
std::optional<HealingState> judge_healing(const GangWork& work, const std::string& uid, SysTime now,
                                          const Healing& healing);

// What comes behind "learner: 1 of 4 do not fit: ...", or stands alone if all has a place.
std::string healing_text(const HealingState& state, bool all_placed);

}  // namespace nervex::extender
