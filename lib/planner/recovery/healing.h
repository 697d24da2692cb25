// planner/recovery/healing.h - a committed gang is incomplete: since when, why, which nodes are
// avoided, and when is it released? Pure.
//
// Pods of a committed gang are lost with their nodes, rejected by kubelets, or cannot be bound.
// Running pods stay, and missing ones are placed elsewhere. The controller requeues a gang that is
// incomplete for longer than the healing deadline, so that it does not run in part forever:
// docs/adr/2026-11-22-healing.md.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/facts/cycle_facts.h"
#include "planner/gang/gang_work.h"

namespace nervex::planner {

// Kept from cycle to cycle in memory only: a restart costs one more bind deadline, or one more
// rejection.
struct HealingMemory {
  struct Incomplete {
    SysTime since{};
    gang::HealingCause cause;
  };
  // By PodGroup UID and gang.
  std::map<std::pair<std::string, std::string>, Incomplete> incomplete;
  // Rejections that the status already includes, by PodGroup UID, set and node.
  std::map<std::tuple<std::string, std::string, std::string>, int> rejections;
};

// -- which nodes are avoided?

// gang::avoided_nodes(), plus what kubelets have rejected since: a kubelet knows better than its
// node's allocatable. `to` gets what to remember of the PodGroup.
std::vector<gang::AvoidedNode> note_rejections(const GroupSeen& seen,
                                               const std::vector<GangWork>& gangs, SysTime now,
                                               const HealingMemory& memory, HealingMemory& to);
// kube-scheduler has refused a pod of the set there for longer than the bind deadline.
void note_refusal(std::vector<gang::AvoidedNode>& avoid, const GangWork& gang,
                  const std::string& set, const std::string& node, SysTime now);

// -- is it complete?

struct HealingState {
  // When it became incomplete. While only slots are missing whose last pod is still being deleted:
  // when the first of those pods will have ended, which may be in the future.
  SysTime since{};
  gang::HealingCause cause;
  bool is_shown = false;  // in the status; false while a gang is only starting
  bool is_over = false;   // the deadline has passed
  bool runs_on = false;  // only collectors are missing, whose last pods have not ended: no deadline
  std::optional<SysTime> deadline;
  std::optional<SysTime> look_again;  // the next change by time alone
};

// Judges a gang after it got what it can get in this cycle; nullopt: complete, or never committed.
// Quorum counts wanted slots whose pods are bound, or have finished on their own.
std::optional<HealingState> judge_healing(const GangWork& work, SysTime now,
                                          const HealingMemory& memory,
                                          const HealingOptions& options);

// Follows "learner: 1 of 4 do not fit: ...", or stands alone if all slots have a placement.
std::string healing_text(const HealingState& state, bool all_placed);

}  // namespace nervex::planner
