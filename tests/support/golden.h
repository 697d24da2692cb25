// tests/support/golden.h - recorded JSON from tests/golden.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace nervex::testing {

// The text of tests/golden/<name>. Throws if there is no such file: the test fails.
inline std::string golden(const std::string& name) {
  const std::string path = fmt::format("{}/tests/golden/{}", NERVEX_SOURCE_DIR, name);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("no golden file " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace nervex::testing
