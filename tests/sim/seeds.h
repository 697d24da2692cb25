// tests/sim/seeds.h - which schedules are tried, and how is one of them tried again?
//
//   NERVEX_SIM_SEEDS=10000 NERVEX_SIM_FIRST=1 sim_test '[schedules]'   many more than ordinarily
//   NERVEX_SIM_SEED=17 sim_test 'name of the test'      this one alone; a failure names its seed
#pragma once

#include <map>
#include <string>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/sim/suite.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"

namespace nervex::testing {

// Lives through a suite of each seed 1...cases(count). No rule may be broken, and each of
// `must_happen` has to have happened in some of them if all were tried: a schedule without it
// proves nothing.
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

// Of a test that lives through one suite.
inline void check_rules(const Suite& suite) {
  INFO(suite.story());
  CHECK(suite.rules.broken() == std::vector<std::string>{});
}

}  // namespace nervex::testing
