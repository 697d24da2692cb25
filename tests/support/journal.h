// tests/support/journal.h - what do the programs decide, line by line? So that two versions can be
// compared.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace nervex::testing {

// Appends the line to the file that NERVEX_JOURNAL names; without it, does nothing. Two runs of one
// simulation with equal seeds write equal journals. Thread-safe.
inline void journal(std::string_view line) {
  static std::mutex mutex;
  static const char* const kName = std::getenv("NERVEX_JOURNAL");
  if (kName == nullptr) return;
  static std::FILE* const file = std::fopen(kName, "a");
  if (file == nullptr) std::abort();
  const std::lock_guard lock(mutex);
  std::fprintf(file, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace nervex::testing
