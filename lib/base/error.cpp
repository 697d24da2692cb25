#include "base/error.h"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace nervex {

const char* to_string(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kNotFound:
      return "not found";
    case Code::kConflict:
      return "conflict";
    case Code::kExpired:
      return "expired";
    case Code::kTransient:
      return "transient";
    case Code::kUnauthorized:
      return "unauthorized";
    case Code::kForbidden:
      return "forbidden";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

Error with_context(std::string_view context, const Error& error) {
  return Error{error.code, fmt::format("{}: {}", context, error.message), error.retry_after};
}

// Writes to stderr directly: the program's state, including the logger's, is no longer reliable,
// and this library is below the logger.
void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, expression);
  std::fflush(stderr);
  std::abort();
}

}  // namespace nervex
