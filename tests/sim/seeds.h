// tests/sim/seeds.h - which schedules are tried, and how is one of them tried again?
//
//   NERVEX_SIM_SEEDS=10000 sim_test '[schedules]'       many more than the ordinary run has
//   NERVEX_SIM_SEED=17 sim_test 'name of the test'      this one alone; a failure names its seed
#pragma once

#include <cstdlib>
#include <map>
#include <string>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/sim/suite.h"
#include "tests/support/sanitized.h"

namespace nervex::testing {

inline unsigned number_from(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::stoul(text));
}

// Lives through a suite of each seed 1...cases(count). No rule may be broken, and each of
// `must_happen` has to have happened in some of them if all were tried: a schedule without it
// proves nothing.
template <typename Live>
void for_seeds(unsigned count, const std::vector<std::string>& must_happen, const Live& live) {
  const unsigned only = number_from("NERVEX_SIM_SEED", 0);
  const unsigned last = only != 0 ? only : number_from("NERVEX_SIM_SEEDS", cases(count));
  std::map<std::string, int> happened;
  for (unsigned seed = only != 0 ? only : 1; seed <= last; ++seed) {
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
    if (last == count) CHECK(happened[what] > 0);
  }
}

// Of a test that lives through one suite.
inline void check_rules(const Suite& suite) {
  INFO(suite.story());
  CHECK(suite.rules.broken() == std::vector<std::string>{});
}

}  // namespace nervex::testing
