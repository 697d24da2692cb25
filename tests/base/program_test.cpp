#include "base/program.h"

#include "base/stop.h"

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex {
namespace {

using namespace std::chrono_literals;

struct Outcome {
  std::optional<int> exit_code;
  CommonFlags flags;
  int replicas = 0;
  std::string config = "nervex-system/aggregator-config";
  std::string out;  // stdout and stderr
};

// Keeps what is written to a stream.
class Captured {
 public:
  explicit Captured(std::ostream& stream) : stream_(stream), saved_(stream.rdbuf(text_.rdbuf())) {}
  ~Captured() { stream_.rdbuf(saved_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* saved_;
};

Outcome run_with(std::vector<std::string> arguments) {
  Outcome outcome;
  CLI::App app("tests flags", "nervex-test");
  add_common_flags(app, outcome.flags, "127.0.0.1:8080", "address of the API");
  add_help_footer(app, "nervex-test --listen :1");
  app.add_option("--max-replicas", outcome.replicas, "a flag of one program");
  add_object_name(app, "--config", outcome.config, "names an object");
  arguments.insert(arguments.begin(), "nervex-test");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const Captured out(std::cout);
  const Captured err(std::cerr);
  outcome.exit_code =
      parse_flags(app, static_cast<int>(arguments.size()), argv.data(), outcome.flags);
  outcome.out = out.text() + err.text();
  init_logging(LogLevel::kInfo, LogFormat::kText);
  return outcome;
}

// An environment variable for the length of a scope.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST_CASE("Without flags the defaults hold", "[base][program]") {
  const Outcome outcome = run_with({});
  CHECK_FALSE(outcome.exit_code);
  CHECK(outcome.flags.listen == "127.0.0.1:8080");
  CHECK(outcome.flags.kubeconfig.empty());
  CHECK(outcome.flags.log_level == LogLevel::kInfo);
  CHECK(outcome.flags.log_format == LogFormat::kText);
  CHECK(outcome.flags.metrics_listen == "0.0.0.0:8081");
  CHECK(outcome.flags.shutdown_delay == 0ms);
}

TEST_CASE("Flags are read from the command line", "[base][program]") {
  const Outcome outcome =
      run_with({"--kubeconfig", "/k", "--listen=:1", "--log-level", "debug", "--log-format=json",
                "--max-replicas=3", "--metrics-listen=:3", "--shutdown-delay=1.5s"});
  CHECK_FALSE(outcome.exit_code);
  CHECK(outcome.flags.kubeconfig == "/k");
  CHECK(outcome.flags.listen == ":1");
  CHECK(outcome.flags.log_level == LogLevel::kDebug);
  CHECK(outcome.flags.log_format == LogFormat::kJson);
  CHECK(outcome.replicas == 3);
  CHECK(outcome.flags.metrics_listen == ":3");
  CHECK(outcome.flags.shutdown_delay == 1500ms);
}

TEST_CASE("Flags are read from the environment, and the command line wins", "[base][program]") {
  const Environment level("NERVEX_LOG_LEVEL", "error");
  const Environment listen("NERVEX_LISTEN", ":2");
  const Environment own("NERVEX_MAX_REPLICAS", "4");
  const Environment metrics("NERVEX_METRICS_LISTEN", ":5");
  const Environment delay("NERVEX_SHUTDOWN_DELAY", "2s");
  const Outcome outcome = run_with({"--listen=:1"});
  CHECK_FALSE(outcome.exit_code);
  CHECK(outcome.flags.log_level == LogLevel::kError);
  CHECK(outcome.flags.listen == ":1");
  CHECK(outcome.replicas == 4);
  CHECK(outcome.flags.metrics_listen == ":5");
  CHECK(outcome.flags.shutdown_delay == 2s);
}

TEST_CASE("The last value of a repeated flag counts", "[base][program]") {
  const Outcome outcome = run_with({"--listen=:1", "--shutdown-delay=1s", "--log-level=debug",
                                    "--listen=:2", "--shutdown-delay=2s", "--log-level=warn"});
  CHECK_FALSE(outcome.exit_code);
  CHECK(outcome.flags.listen == ":2");
  CHECK(outcome.flags.shutdown_delay == 2s);
  CHECK(outcome.flags.log_level == LogLevel::kWarn);
}

TEST_CASE("A wrong value in the environment is a usage error", "[base][program]") {
  const Environment level("NERVEX_LOG_LEVEL", "loud");
  CHECK(run_with({}).exit_code == kExitUsage);
}

TEST_CASE("An error on the command line is named, with exit code 2", "[base][program]") {
  struct Row {
    std::string when;
    std::vector<std::string> arguments;
    std::string named;
  };
  const auto row = GENERATE(values<Row>({
      {"the flag is unknown", {"--lisen", ":1"}, "--lisen"},
      {"a value is missing", {"--listen"}, "--listen"},
      {"the word is unknown", {"--log-level=loud"}, "loud"},
      {"the word's number is given", {"--log-level=0"}, "--log-level"},
      {"a number is none", {"--max-replicas=many"}, "many"},
      {"there is an argument", {"extra"}, "extra"},
      {"a duration is none", {"--shutdown-delay=soon"}, "soon"},
      {"there is no time for the delay", {"--shutdown-delay=4s"}, "3s"},
  }));
  INFO("when " << row.when);
  const Outcome outcome = run_with(row.arguments);
  CHECK(outcome.exit_code == kExitUsage);
  CHECK(outcome.out.find(row.named) != std::string::npos);
}

TEST_CASE("--version prints the program's name and version", "[base][program]") {
  const Outcome outcome = run_with({"--version"});
  CHECK(outcome.exit_code == kExitOk);
  CHECK(outcome.out == "nervex-test " NERVEX_VERSION "\n");
}

TEST_CASE("--help names each flag with its default and variable", "[base][program]") {
  const Outcome outcome = run_with({"--help"});
  CHECK(outcome.exit_code == kExitOk);
  INFO(outcome.out);
  const auto part = GENERATE(values<std::string>({"tests flags",
                                                  "--kubeconfig FILE",
                                                  "NERVEX_KUBECONFIG",
                                                  "--listen HOST:PORT",
                                                  "127.0.0.1:8080",
                                                  "address of the API",
                                                  "--log-level",
                                                  "info",
                                                  "debug",
                                                  "NERVEX_LOG_LEVEL",
                                                  "--log-format",
                                                  "json",
                                                  "NERVEX_LOG_FORMAT",
                                                  "NERVEX_MAX_REPLICAS",
                                                  "--version",
                                                  "--metrics-listen HOST:PORT",
                                                  "0.0.0.0:8081",
                                                  "NERVEX_METRICS_LISTEN",
                                                  "--shutdown-delay DURATION",
                                                  "0s",
                                                  "NERVEX_SHUTDOWN_DELAY",
                                                  "Exit codes",
                                                  "Example",
                                                  "nervex-test --listen :1"}));
  INFO("part " << part);
  CHECK(outcome.out.find(part) != std::string::npos);
}

// Gives the thread its signal mask and SIGPIPE's handler back at the end.
class SavedSignals {
 public:
  SavedSignals() {
    pthread_sigmask(SIG_BLOCK, nullptr, &mask_);
    sigaction(SIGPIPE, nullptr, &pipe_);
  }
  ~SavedSignals() {
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    sigaction(SIGPIPE, &pipe_, nullptr);
  }

 private:
  sigset_t mask_{};
  struct sigaction pipe_ {};
};

TEST_CASE("StopSignal waits for SIGTERM, SIGINT or trigger", "[base][program]") {
  const SavedSignals saved;
  StopSignal stop;

  stop.trigger();  // before wait: it stays pending
  stop.wait();

  std::jthread other([&stop] { stop.trigger(); });
  stop.wait();
  other.join();

  kill(getpid(), SIGINT);
  CHECK(stop.wait() == kExitOk);
}

TEST_CASE("A failure stops a program once, and not while it stops", "[base][program]") {
  const SavedSignals saved;
  const auto is_pending = [] {  // a second signal would end the process
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGTERM) == 1;
  };
  StopSignal failing;
  failing.fail();
  failing.fail();
  CHECK(failing.wait() == kExitFailure);
  CHECK_FALSE(is_pending());

  StopSignal stopping;
  stopping.trigger();
  CHECK(stopping.wait() == kExitOk);
  stopping.fail();
  CHECK_FALSE(is_pending());
}

TEST_CASE("StopSignal lets a write to a closed pipe fail", "[base][program]") {
  const SavedSignals saved;
  const StopSignal stop;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  CHECK(write(ends[1], "x", 1) == -1);
  close(ends[1]);
}

TEST_CASE("fatal answers with the exit code of a failure", "[base][program]") {
  CHECK(fatal("start", Error{Code::kInvalid, "no such file"}) == kExitFailure);
}

TEST_CASE("an object is named by its namespace and its name", "[base][program]") {
  CHECK(run_with({}).config == "nervex-system/aggregator-config");
  CHECK(run_with({"--config", "a/b"}).config == "a/b");
  const std::string wrong = GENERATE("", "a", "/", "/b", "a/", "a/b/c");
  INFO(wrong);
  const Outcome outcome = run_with({"--config", wrong});
  CHECK(outcome.exit_code == kExitUsage);
  CHECK(outcome.out.find("NAMESPACE/NAME") != std::string::npos);
}

}  // namespace
}  // namespace nervex
