// planner/recovery/plan_expiry.h - when does a plan without a bound pod expire? Pure.
//
// A plan takes capacity from others. Other gangs get it if the plan's pods are not created or do
// not reach bind, because kube-scheduler refuses all of them or because nothing happens at all; and
// if the workloads that end for it do not end in time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "planner/facts/snapshot.h"
#include "planner/recovery/refusals.h"

namespace nervex::planner {

// A gang that is planned and not committed, or preempting.
struct UncommittedPlan {
  gang::PodGroupPtr group;
  std::string gang;
  std::size_t pods = 0;     // wanted by the gang
  std::size_t gated = 0;    // of `pods`: have schedulingGates
  std::size_t created = 0;  // of `pods`: exist, or have finished
  std::vector<Refusal> refusals;
  // When a pod of the plan was last created; and when one was last created, held or refused.
  std::optional<MonoTime> last_created{};
  std::optional<MonoTime> last_moved{};
  // Of a gang that is preempting: its victims should have ended by then. A new leader gives
  // it kLateVictim: without a leader, victims may not have been marked.
  std::optional<SysTime> victims_due{};
  // UnboundPods::claiming and ::claim.
  std::size_t claiming = 0;
  std::string claim{};
  // The status of the Queue counts the preemption, if the gang is preempting. Before that no victim
  // is marked.
  bool is_counted = true;
};

// Since the gang's victims were named, and since the grace period of their last pod ended.
inline constexpr std::chrono::milliseconds kVictimsDeadline{300'000};
inline constexpr std::chrono::milliseconds kLateVictim{60'000};
// A grace period that ends later than this after the deadline is not waited for.
inline constexpr std::chrono::milliseconds kLongestVictimGrace{300'000};

// Limit on the total age of a plan that still makes progress; a longer deadline overrides it.
inline constexpr std::chrono::milliseconds kLongestPlan{600'000};

struct PlanExpiryOptions {
  // Since the plan's last progress. Must be longer than binds are held. 0: no such plan is dropped.
  std::chrono::milliseconds deadline{120'000};
  // Since the last pod was created, if kube-scheduler refuses every pod, so that no bind is held.
  std::chrono::milliseconds refused_deadline{30'000};
};

// Age of each plan as this process has seen it: a new leader starts over. By PodGroup UID and gang.
struct PlanAge {
  std::int64_t plan = 0;  // the highest number of its placements
  bool is_preempting = false;
  MonoTime since{};
};
using PlanAges = std::map<std::pair<std::string, std::string>, PlanAge>;

struct ExpiredPlans {
  std::vector<std::pair<gang::PodGroupPtr, gang::PodGroupStatus>>
      writes;     // one per PodGroup at most
  PlanAges ages;  // for the next time
  std::optional<std::chrono::milliseconds> look_again;
};
// `mono` and `now` are the same moment.
ExpiredPlans expire_plans(const std::vector<UncommittedPlan>& gangs, const PlanAges& ages,
                          MonoTime mono, SysTime now, const PlanExpiryOptions& options);

}  // namespace nervex::planner
