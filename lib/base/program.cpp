#include "base/program.h"

#include <cctype>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/duration.h"
#include "base/stop.h"

namespace nervex {

namespace {

const std::map<std::string, LogLevel> kLogLevels{{"debug", LogLevel::kDebug},
                                                 {"info", LogLevel::kInfo},
                                                 {"warn", LogLevel::kWarn},
                                                 {"error", LogLevel::kError}};
const std::map<std::string, LogFormat> kLogFormats{{"text", LogFormat::kText},
                                                   {"json", LogFormat::kJson}};

template <typename T>
std::string enum_name(const std::map<std::string, T>& names, T value) {
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
      ->default_str(enum_name(names, value));
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

}  // namespace

const char* program_version() { return NERVEX_VERSION; }

void add_common_flags(CLI::App& app, CommonFlags& flags, const std::string& listen_default,
                      const std::string& listen_help) {
  flags.listen = listen_default;
  // As in Go: of a repeated flag the last one counts, so that wrappers can append theirs.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--kubeconfig", flags.kubeconfig,
                 "kubeconfig file; without it the pod's service account is used")
      ->type_name("FILE");
  if (!listen_default.empty()) {
    app.add_option("--listen", flags.listen, listen_help)
        ->type_name("HOST:PORT")
        ->capture_default_str();
  }
  app.add_option("--metrics-listen", flags.metrics_listen,
                 "address of /metrics, /healthz, /readyz and /loglevel")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  add_duration(app, "--shutdown-delay", flags.shutdown_delay,
               "how long to accept requests after SIGTERM, while /readyz already fails; at most 3s")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const auto delay = parse_duration(text);
            return delay && *delay > kLongestShutdownDelay
                       ? "must be at most 3s, because the program must exit within 5s"
                       : std::string();
          },
          ""));
  add_choice(app, "--log-level", flags.log_level, kLogLevels, "lowest level to log");
  add_choice(app, "--log-format", flags.log_format, kLogFormats, "format of log lines");
}

CLI::Option* add_duration(CLI::App& app, const std::string& flag, std::chrono::milliseconds& value,
                          const std::string& help) {
  const auto set = [&value](const std::string& text) { value = *parse_duration(text); };
  const auto check = [](const std::string& text) {
    const auto parsed = parse_duration(text);
    return parsed ? std::string() : parsed.error().message;
  };
  return app.add_option_function<std::string>(flag, set, help)
      ->check(CLI::Validator(check, ""))
      ->type_name("DURATION")
      ->default_str(format_duration(value));
}

CLI::Option* add_object_name(CLI::App& app, const std::string& flag, std::string& value,
                             const std::string& help) {
  const auto check = [](const std::string& text) {
    const auto slash = text.find('/');
    const bool is_good = slash != std::string::npos && slash > 0 && slash + 1 < text.size() &&
                         text.find('/', slash + 1) == std::string::npos;
    return is_good ? "" : "must be NAMESPACE/NAME";
  };
  return app.add_option(flag, value, help)
      ->type_name("NAMESPACE/NAME")
      ->check(CLI::Validator(check, ""))
      ->capture_default_str();
}

CLI::Option* add_list(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                      const ParseList& parse, const std::string& help) {
  const auto set = [&values, parse](const std::string& text) { values = *parse(text); };
  const auto check = [parse](const std::string& text) {
    const auto parsed = parse(text);
    return parsed ? std::string() : parsed.error().message;
  };
  return app.add_option_function<std::string>(flag, set, help)
      ->type_name("LIST")
      ->check(CLI::Validator(check, ""))
      ->default_str(fmt::format("{}", fmt::join(values, ",")));
}

void add_help_footer(CLI::App& app, const std::string& example) {
  app.footer(fmt::format(
      "Each flag can also be set by the environment variable shown; the command line wins.\n"
      "A DURATION is written as 15s, 1.5s or 500ms.\n"
      "\n"
      "Exit codes\n"
      "  {}  stopped by SIGTERM or SIGINT\n"
      "  {}  could not start, lost its leadership, or did not stop in time; see the log\n"
      "  {}  a flag, an environment variable or an argument is wrong\n"
      "\n"
      "Example\n"
      "  {}",
      kExitOk, kExitFailure, kExitUsage, example));
}

std::optional<int> parse_flags(CLI::App& app, int argc, char** argv, const CommonFlags& flags) {
  app.set_version_flag("--version", fmt::format("{} {}", app.get_name(), NERVEX_VERSION));
  name_environment(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kExitOk : kExitUsage;  // CLI11 has its own code for each error
  }
  init_logging(flags.log_level, flags.log_format);
  return std::nullopt;
}

int fatal(const std::string& what, const Error& error) {
  log_error(what + ": " + error.message, {{"code", to_string(error.code)}});
  return kExitFailure;
}

}  // namespace nervex
