// tests/support/seeds.h - which random schedules does a simulation try, and how is one repeated?
//
//   NERVEX_SIM_SEEDS=10000   number of schedules, from NERVEX_SIM_FIRST (1) on; replaces the
//   default NERVEX_SIM_SEED=17       only this one; a failure names its seed
#pragma once

#include <cstdlib>
#include <string>

namespace nervex::testing {

inline unsigned number_from(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : static_cast<unsigned>(std::stoul(text));
}

struct Seeds {
  unsigned first = 1;
  unsigned count = 0;
  bool is_chosen = false;  // by the environment
};

// `first` and `count` apply to the ordinary run.
inline Seeds seeds_to_try(unsigned first, unsigned count) {
  const unsigned only = number_from("NERVEX_SIM_SEED", 0);
  if (only != 0) return {only, 1, true};
  const unsigned many = number_from("NERVEX_SIM_SEEDS", 0);
  if (many != 0) return {number_from("NERVEX_SIM_FIRST", 1), many, true};
  return {first, count, false};
}

}  // namespace nervex::testing
