#include "base/program.h"

#include <csignal>
#include <cstdlib>
#include <map>

#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace nervex {

namespace {

const std::map<std::string, LogLevel> kLogLevels{{"debug", LogLevel::kDebug},
                                                 {"info", LogLevel::kInfo},
                                                 {"warn", LogLevel::kWarn},
                                                 {"error", LogLevel::kError}};
const std::map<std::string, LogFormat> kLogFormats{{"text", LogFormat::kText},
                                                   {"json", LogFormat::kJson}};

template <typename T>
std::string name_of(const std::map<std::string, T>& names, T value) {
  for (const auto& [name, named] : names) {
    if (named == value) return name;
  }
  return "";
}

// A flag that takes one of a few words. `names` lives as long as the program.
template <typename T>
void add_choice(CLI::App& app, const std::string& flag, T& value,
                const std::map<std::string, T>& names, const std::string& help) {
  const auto set = [&value, &names](const std::string& name) { value = names.at(name); };
  app.add_option_function<std::string>(flag, set, help)
      ->check(CLI::IsMember(&names))
      ->type_name("")
      ->default_str(name_of(names, value));
}

// --log-level is read from NERVEX_LOG_LEVEL.
std::string environment_name(const std::string& flag) {
  std::string name = "NERVEX_";
  for (const char c : flag) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

void name_environment(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const bool acts_at_once = option == app.get_help_ptr() || option == app.get_version_ptr();
    if (acts_at_once || option->get_lnames().empty() || !option->get_envname().empty()) continue;
    option->envname(environment_name(option->get_lnames().front()));
  }
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void add_common_flags(CLI::App& app, CommonFlags& flags, const std::string& listen_default,
                      const std::string& listen_help) {
  flags.listen = listen_default;
  app.add_option("--kubeconfig", flags.kubeconfig,
                 "kubeconfig file; without it the pod's service account is used")
      ->type_name("FILE");
  app.add_option("--listen", flags.listen, listen_help)
      ->type_name("HOST:PORT")
      ->default_str(listen_default);
  add_choice(app, "--log-level", flags.log_level, kLogLevels, "least severe level that is logged");
  add_choice(app, "--log-format", flags.log_format, kLogFormats, "form of a log line");
}

std::optional<int> parse_flags(CLI::App& app, int argc, char** argv, const CommonFlags& flags) {
  app.set_version_flag("--version", fmt::format("{} {}", app.get_name(), NERVEX_VERSION));
  name_environment(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kExitOk : kExitUsage;  // CLI11 has a code of its own for each error
  }
  init_logging(flags.log_level, flags.log_format);
  return std::nullopt;
}

StopSignal::StopSignal() {
  const sigset_t set = stop_signals();
  NERVEX_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  // A caller that hangs up must not end the program: the write fails instead.
  NERVEX_CHECK(std::signal(SIGPIPE, SIG_IGN) != SIG_ERR);
}

void StopSignal::wait() {
  const sigset_t set = stop_signals();
  int signal = 0;
  NERVEX_CHECK(sigwait(&set, &signal) == 0);
  log_info("stopping", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
}

// Directed at the process, all of whose threads block it, so that it stays pending until wait().
void StopSignal::trigger() { NERVEX_CHECK(kill(getpid(), SIGTERM) == 0); }

int fatal(const std::string& what, const Error& error) {
  log_error(what + ": " + error.message, {{"code", to_string(error.code)}});
  return kExitFailure;
}

}  // namespace nervex
