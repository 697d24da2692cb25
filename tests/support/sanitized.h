// tests/support/sanitized.h - how many random cases does a run under a sanitizer try?
#pragma once

namespace nervex::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// A quarter: a case is ten to fifty times slower there, and the sanitizer needs the code's paths
// rather than the number of cases. The ordinary run tries them all.
constexpr unsigned cases(unsigned count) { return kSanitized ? (count + 3) / 4 : count; }

}  // namespace nervex::testing
