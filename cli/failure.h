// cli/failure.h - what does a user read when a verb fails?
#pragma once

#include <string>

#include "base/error.h"

namespace nervex::cli {

// What the user can do about it, one sentence without a full stop; "" if the error itself tells.
// `error` is the API server's, or a failure to reach it. Pure.
std::string suggest(const Error& error);

// Writes "nervexctl: WHAT: ERROR" and the suggestion to stderr. Returns kExitFailure.
int fail(const std::string& what, const Error& error);

// Writes "nervexctl: TEXT" to stderr, for what could not be shown and for progress.
void note(const std::string& text);

}  // namespace nervex::cli
