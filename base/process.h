// base/process.h - how does a program run another one, and get back what it said?
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/http/call_limit.h"

namespace nervex {

struct ProcessOptions {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH unless it holds a slash
  // "NAME=value", beside our own environment; wins over a variable of ours with the same name.
  std::vector<std::string> env{};
  // It may talk to the person at our terminal: stdin and stderr are ours. Else it reads nothing.
  bool interactive = false;
  std::size_t max_output = 1 << 20;  // bytes of each stream; more ends it
};

struct ProcessEnd {
  int exit_code = 0;  // 128 + the signal that ended it, as shells have it
  std::string out;
  std::string err;  // empty if interactive
};

// Starts it without a shell and waits until it has ended. What it leaves running in the background
// is not waited for. At `deadline`, or at `limit` if that is sooner, the process (not its children)
// is killed: kTransient; so is a process that says too much. kInvalid: it cannot be started.
// Thread-safe.
Result<ProcessEnd> run_process(const ProcessOptions& options, MonoTime deadline,
                               const CallLimit& limit);

}  // namespace nervex
