// tests/job/texts.h - field errors as the lines that a user reads.
#pragma once

#include <string>
#include <vector>

#include "job/validate.h"

namespace nervex::testing {

using Texts = std::vector<std::string>;

inline Texts texts(const job::FieldErrors& errors) {
  Texts result;
  for (const auto& error : errors) result.push_back(to_string(error));
  return result;
}

}  // namespace nervex::testing
