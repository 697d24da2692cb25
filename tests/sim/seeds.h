// tests/sim/seeds.h - which schedules are tried, and how is one of them repeated?
//
//   NERVEX_SIM_SEEDS=10000 NERVEX_SIM_FIRST=1 sim_test '[schedules]'   many more than by default
//   NERVEX_SIM_SEED=17 sim_test 'name of the test'      only this one; a failure names its seed
#pragma once

#include <map>
#include <string>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/sim/suite.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"

namespace nervex::testing {

// Runs a suite for each seed 1...cases(count). No rule may be broken, and if all seeds were tried
// each of `must_happen` must have happened in some of them: a schedule without it proves nothing.
template <typename Live>
void for_seeds(unsigned count, const std::vector<std::string>& must_happen, const Live& live) {
  const Seeds seeds = seeds_to_try(1, cases(count));
  std::map<std::string, int> happened;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Suite suite(seed);
    live(suite);
    const auto& broken = suite.rules.broken();
    if (!broken.empty()) {
      FAIL("NERVEX_SIM_SEED=" << seed << ": " << fmt::format("{}", fmt::join(broken, "; "))
                              << "\nwhat happened last:\n"
                              << suite.story());
    }
    for (const auto& [what, times] : suite.rules.seen) happened[what] += times;
  }
  for (const auto& what : must_happen) {
    INFO(what);
    if (!seeds.is_chosen && seeds.count == count) CHECK(happened[what] > 0);
  }
}

// For a test that runs a single suite.
inline void check_rules(const Suite& suite) {
  INFO(suite.story());
  CHECK(suite.rules.broken() == std::vector<std::string>{});
}

}  // namespace nervex::testing
