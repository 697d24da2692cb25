// base/program.h - what do all programs of the suite share? Flags, log set-up, exit codes.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "base/error.h"
#include "base/log.h"

namespace nervex {

// "0.1.0"
const char* program_version();

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

// Flags of all long-running programs. Each is also read from the environment: --log-level from
// NERVEX_LOG_LEVEL, and so on.
struct CommonFlags {
  std::string kubeconfig;  // empty: in-cluster configuration
  std::string listen;      // HOST:PORT; empty: the program has no callers
  std::string metrics_listen = "0.0.0.0:8081";
  std::chrono::milliseconds shutdown_delay{0};
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
};

// Adds the shared flags to `app`; `listen_default` and `listen_help` differ by program. An empty
// default means no --listen.
void add_common_flags(CLI::App& app, CommonFlags& flags, const std::string& listen_default,
                      const std::string& listen_help);

// A flag for a duration, see base/duration.h. `value` is its default, and must live as long as
// `app`.
CLI::Option* add_duration(CLI::App& app, const std::string& flag, std::chrono::milliseconds& value,
                          const std::string& help);

// A flag for an object: NAMESPACE/NAME. `value` is its default, and must live as long as `app`.
CLI::Option* add_object_name(CLI::App& app, const std::string& flag, std::string& value,
                             const std::string& help);

// A flag for a list of texts, separated by commas, as `parse` reads it. `values` is its default,
// and must live as long as `app`.
using ParseList = std::function<Result<std::vector<std::string>>(std::string_view text)>;
CLI::Option* add_list(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                      const ParseList& parse, const std::string& help);

// The text below the flags in --help: exit codes, and one example command line.
void add_help_footer(CLI::App& app, const std::string& example);

// Parses. On --help, --version or an error prints CLI11's text and returns the exit code (0, 0, 2).
// nullopt: continue. Sets up logging from `flags`.
std::optional<int> parse_flags(CLI::App& app, int argc, char** argv, const CommonFlags& flags);

// Logs "<what>: <error>" and returns kExitFailure.
int fatal(const std::string& what, const Error& error);

}  // namespace nervex
