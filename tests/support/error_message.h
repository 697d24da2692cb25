// tests/support/error_message.h - why did it fail? As text, for a single comparison.
#pragma once

#include <string>

#include "base/error.h"

namespace nervex::testing {

// "" on success.
template <typename T>
std::string error_message(const Result<T>& result) {
  return result ? "" : result.error().message;
}

}  // namespace nervex::testing
