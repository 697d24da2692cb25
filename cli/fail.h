// cli/fail.h - how does a command of nervexctl say that it failed?
#pragma once

#include <cstdio>
#include <string>

#include "base/error.h"
#include "base/program.h"
#include "cli/text.h"

namespace nervex::cli {

// Writes "nervexctl: WHAT: ERROR" to stderr. Returns the exit code.
inline int fail(const std::string& what, const Error& error) {
  std::fprintf(stderr, "nervexctl: %s: %s\n", what.c_str(), printable(error.message).c_str());
  return kExitFailure;
}

}  // namespace nervex::cli
