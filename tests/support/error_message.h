// tests/support/error_message.h - why did it fail? As text, so that one comparison says it all.
#pragma once

#include <string>

#include "base/error.h"

namespace nervex::testing {

// "" if it did not fail.
template <typename T>
std::string error_message(const Result<T>& result) {
  return result ? "" : result.error().message;
}

}  // namespace nervex::testing
