// base/program.h - what every program of the suite does alike: flags, log set-up, signals, exit
// codes.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <CLI/App.hpp>

#include "base/error.h"
#include "base/log.h"

namespace nervex {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// The flags that all long-running programs share. Each is also read from the environment:
// --log-level from NERVEX_LOG_LEVEL, and so on.
struct CommonFlags {
  std::string kubeconfig;  // empty: in-cluster configuration
  std::string listen;      // HOST:PORT
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
};

// Adds the shared flags to `app`; `listen_default` and `listen_help` differ by program.
void add_common_flags(CLI::App& app, CommonFlags& flags, const std::string& listen_default,
                      const std::string& listen_help);

// Parses; on --help, --version or an error prints what CLI11 has to say and returns the exit code
// (0, 0, 2). nullopt: go on. Sets up logging from `flags`.
std::optional<int> parse_flags(CLI::App& app, int argc, char** argv, const CommonFlags& flags);

// Blocks SIGTERM and SIGINT for this and all later threads, so construct it first in main.
class StopSignal {
 public:
  StopSignal();
  // Waits for SIGTERM or SIGINT, or for trigger(). Call from main only.
  void wait();
  // As if SIGTERM had come. Thread-safe.
  void trigger();
};

// Logs "<what>: <error>" and returns kExitFailure.
int fatal(const std::string& what, const Error& error);

}  // namespace nervex
