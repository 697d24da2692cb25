// tests/fuzz/require.h - how does a target report a broken promise?
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>

namespace nervex::testing {

// Ends the run if the promise does not hold.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "broken promise: " << what << "\n";
  std::abort();
}

}  // namespace nervex::testing
