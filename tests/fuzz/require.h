// tests/fuzz/require.h - what a target promises.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>

namespace nervex::testing {

// Ends the run: what was promised does not hold.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "broken promise: " << what << "\n";
  std::abort();
}

}  // namespace nervex::testing
