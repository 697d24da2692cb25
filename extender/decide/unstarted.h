// extender/decide/unstarted.h - plans of which no pod was bound: when does such a plan expire?
// Pure.
//
// A plan takes capacity from others. If its pods are not created, or kube-scheduler does not bring
// them to be bound, because it refuses all of them or because nothing happens at all, others get
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "extender/decide/refusals.h"
#include "extender/decide/view.h"

namespace nervex::extender {

// A gang that is planned and not committed.
struct UnstartedGang {
  PodGroupPtr group;
  std::string gang;
  std::size_t pods = 0;     // that it wants
  std::size_t gated = 0;    // of them: have schedulingGates
  std::size_t created = 0;  // of them: are there, or have finished
  std::vector<Refusal> refusals;
  // When a pod of the plan was last seen to be created; and when one was created, held or refused.
  std::optional<MonoTime> last_created{};
  std::optional<MonoTime> last_moved{};
};

// So long a plan may last in all, however much of it moves; if the deadline is not longer.
inline constexpr std::chrono::milliseconds kLongestPlan{600'000};

struct UnstartedOptions {
  // From when something about the plan moved last. Longer than binds are held. 0: no such plan is
  // given up.
  std::chrono::milliseconds deadline{120'000};
  // From when the last pod was created, if kube-scheduler refuses every one, so that no bind is
  // held.
  std::chrono::milliseconds refused_deadline{30'000};
};

// Since when there is a plan, as far as this process has seen: a new leader gives each its time
// again. By PodGroup UID and gang.
struct PlanAge {
  std::int64_t plan = 0;  // the greatest number of its placements
  MonoTime since{};
};
using PlanAges = std::map<std::pair<std::string, std::string>, PlanAge>;

struct UnstartedResult {
  std::vector<std::pair<PodGroupPtr, gang::PodGroupStatus>> writes;  // one per PodGroup at most
  PlanAges ages;                                                     // for the next time
  std::optional<std::chrono::milliseconds> look_again;
};
// `mono` and `now` are the same time.
UnstartedResult give_up_unstarted(const std::vector<UnstartedGang>& gangs, const PlanAges& ages,
                                  MonoTime mono, SysTime now, const UnstartedOptions& options);

}  // namespace nervex::extender
