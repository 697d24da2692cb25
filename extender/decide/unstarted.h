// extender/decide/unstarted.h - plans of which no pod was bound: when does such a plan expire?
// Pure.
//
// A plan takes capacity from others. If kube-scheduler does not bring its pods to be bound, because
// it refuses all of them or because nothing happens at all, others get it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "extender/decide/refusals.h"
#include "extender/decide/view.h"

namespace nervex::extender {

// A gang that is planned and not committed.
struct UnstartedGang {
  PodGroupPtr group;
  std::string gang;
  std::size_t pods = 0;       // that it wants
  std::size_t gated = 0;      // of them: have schedulingGates
  bool has_all_pods = false;  // each was created
  std::vector<Refusal> refusals;
};

struct UnstartedOptions {
  // From when all pods were there. Longer than binds are held. 0: no such plan is given up.
  std::chrono::milliseconds deadline{120'000};
  // If kube-scheduler refuses every one of them, so that no bind is held.
  std::chrono::milliseconds refused_deadline{30'000};
};

// Since when a plan has had all its pods, as far as this process has seen. By PodGroup UID and
// gang.
struct PlanAge {
  std::int64_t plan = 0;  // the greatest number of its placements
  SysTime since{};
};
using PlanAges = std::map<std::pair<std::string, std::string>, PlanAge>;

struct UnstartedResult {
  std::vector<std::pair<PodGroupPtr, gang::PodGroupStatus>> writes;  // one per PodGroup at most
  PlanAges ages;                                                     // for the next time
  std::optional<std::chrono::milliseconds> look_again;
};
UnstartedResult give_up_unstarted(const std::vector<UnstartedGang>& gangs, const PlanAges& ages,
                                  SysTime now, const UnstartedOptions& options);

}  // namespace nervex::extender
