// base/process.h - how does a program run another one and read its output? To its end, or beside
// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/http/call_limit.h"

namespace nervex {

struct ProcessOptions {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH unless it holds a slash
  // "NAME=value", added to our environment; replaces variables of the same name.
  std::vector<std::string> env{};
  // May talk to the user at our terminal: shares our stdin and stderr. Otherwise it reads nothing.
  bool interactive = false;
  std::size_t max_output = 1 << 20;  // bytes of each stream; more ends the process
};

struct ProcessEnd {
  int exit_code = 0;  // 128 + the signal that ended it, as in shells
  std::string out;
  std::string err;  // empty if interactive
};

// Starts it without a shell and waits until it has ended, but not for its background processes. At
// `deadline`, or at `limit` if earlier, the process (not its children) is killed: kTransient;
// likewise if its output is too long. kInvalid: it cannot be started. Thread-safe.
Result<ProcessEnd> run_process(const ProcessOptions& options, MonoTime deadline,
                               const CallLimit& limit);

// A process that runs beside ours, without a terminal. The destructor kills it, but not its
// children.
class BackgroundProcess {
 public:
  // `interactive` is ignored. kInvalid: it cannot be started.
  static Result<BackgroundProcess> start(const ProcessOptions& options);
  ~BackgroundProcess();
  BackgroundProcess(BackgroundProcess&&) noexcept;
  BackgroundProcess& operator=(BackgroundProcess&&) noexcept;

  // The next line of its stdout, without the newline. kTransient: none came until `deadline`, or
  // the process ended before; then with what it wrote to stderr.
  Result<std::string> read_line(MonoTime deadline);

 private:
  struct Impl;
  explicit BackgroundProcess(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nervex
