// Random lives of preempting gangs: leaders end between any two writes, an old leader writes what
// it has decided on an old state, preemptors and victims leave, change, heal and end, jobs add
// requests, gangs are evicted, another scheduler takes what was freed, the controller is away. In
// half of the lives quotas name classes of nodes, in half of them CPUs, too. Judged by the stored
// objects alone.
//
//   NERVEX_SIM_SEEDS=5000 cycle_simulation_test "[preempt][property]"
//   NERVEX_SIM_SEED=17 cycle_simulation_test "[preempt][property]"
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/planner/preemption/simulation/life.h"
#include "tests/support/seeds.h"

namespace nervex::testing {
namespace {

std::map<std::string, int> live(PreemptionFault fault, const Seeds& seeds, int& broken) {
  std::map<std::string, int> seen;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    if (fault != PreemptionFault::kNone && broken > 0) break;
    PreemptionLife life(seed, fault);
    for (int i = 0; i < 150 && life.broken().empty(); ++i) life.step();
    if (life.broken().empty()) life.come_to_rest();
    if (!life.broken().empty()) ++broken;
    if (fault == PreemptionFault::kNone && !life.broken().empty()) {
      FAIL_CHECK("NERVEX_SIM_SEED=" << seed << ": "
                                    << fmt::format("{}", fmt::join(life.broken(), "; ")));
    }
    for (const auto& [what, times] : life.happened()) seen[what] += times;
  }
  return seen;
}

TEST_CASE("preemptions end as they should, with any events between their steps",
          "[extender][preempt][property]") {
  const Seeds seeds = seeds_to_try(1, 200);
  int broken = 0;
  const auto seen = live(PreemptionFault::kNone, seeds, broken);
  std::string summary;
  for (const auto& [what, times] : seen) summary += fmt::format("\n{:>8} {}", times, what);
  if (seeds.is_chosen) WARN(summary);
  INFO(summary);
  if (seeds.is_chosen) return;
  for (const char* what :
       {"conflict", "leader ended between two writes", "pod of another scheduler",
        "preemptor changed", "preemptor deleted", "preemptor started", "preemptor waits again",
        "victim ended", "victim healed", "victim marked", "victim requeued", "victims named",
        "request added", "request requeued", "gang evicted", "controller away"}) {
    INFO(what);
    CHECK(seen.count(what) == 1);
  }
}

TEST_CASE("a leader that skips a step of preemption is caught", "[extender][preempt][property]") {
  const PreemptionFault fault =
      GENERATE(PreemptionFault::kMarksBeforeStored, PreemptionFault::kPlansAtOnce,
               PreemptionFault::kMarksUncounted, PreemptionFault::kChecksWithoutClasses,
               PreemptionFault::kLendsTwice, PreemptionFault::kForgetsMarks);
  int broken = 0;
  live(fault, {1, 1'000, false}, broken);
  INFO("fault " << static_cast<int>(fault));
  CHECK(broken > 0);
}

}  // namespace
}  // namespace nervex::testing
