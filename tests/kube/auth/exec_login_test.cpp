#include "kube/auth/exec_login.h"

#include <atomic>
#include <latch>
#include <thread>

#include <sys/stat.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/fake_clock.h"
#include "tests/support/temp_folder.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using testing::FakeClock;
using testing::TempFolder;

// Gives out "token-1", "token-2", ... for ten minutes each; or an error.
struct Issuer {
  const Clock& clock;
  int runs = 0;
  std::optional<Error> error{};

  RunPlugin plugin() {
    return [this]() -> Result<ExecCredential> {
      ++runs;
      if (error) return *error;
      return ExecCredential{"token-" + std::to_string(runs), "", "", clock.now() + 10min};
    };
  }
};

std::string login_token(ExecLogin& login) {
  const auto issued = login.get();
  return issued ? issued->credential.token : issued.error().message;
}

TEST_CASE("a credential is kept until shortly before its end", "[kube][exec]") {
  FakeClock clock;
  Issuer issuer{clock};
  ExecLogin login(issuer.plugin(), clock);
  CHECK(login_token(login) == "token-1");
  clock.advance(9min);
  CHECK(login_token(login) == "token-1");
  clock.advance(50s);
  CHECK(login_token(login) == "token-2");
}

TEST_CASE("a refused credential is replaced once for all its callers", "[kube][exec]") {
  FakeClock clock;
  Issuer issuer{clock};
  ExecLogin login(issuer.plugin(), clock);
  const auto first = login.get();
  REQUIRE(first);
  login.drop(first->number);
  CHECK(login_token(login) == "token-2");
  login.drop(first->number);  // another caller that had been refused with the first
  CHECK(login_token(login) == "token-2");
}

TEST_CASE("a plugin that fails is run again", "[kube][exec]") {
  FakeClock clock;
  Issuer issuer{clock};
  issuer.error = Error{Code::kTransient, "not now"};
  ExecLogin login(issuer.plugin(), clock);
  CHECK(login_token(login) == "not now");
  issuer.error.reset();
  CHECK(login_token(login) == "token-2");
}

TEST_CASE("a plugin that fails leaves the old credential the rest of its time", "[kube][exec]") {
  FakeClock clock;
  Issuer issuer{clock};
  ExecLogin login(issuer.plugin(), clock);
  CHECK(login_token(login) == "token-1");
  issuer.error = Error{Code::kTransient, "not now"};
  clock.advance(9min + 55s);
  CHECK(login_token(login) == "token-1");
  clock.advance(10s);
  CHECK(login_token(login) == "not now");
}

TEST_CASE("concurrent callers wait for one run of the plugin", "[kube][exec]") {
  FakeClock clock;
  std::atomic<int> runs = 0;
  std::latch running(1);
  std::latch may_end(1);
  ExecLogin login(
      [&]() -> Result<ExecCredential> {
        ++runs;
        running.count_down();
        may_end.wait();
        return ExecCredential{"token", "", "", std::nullopt};
      },
      clock);
  std::atomic<int> served = 0;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 8; ++i) {
      callers.emplace_back([&] { served += login_token(login) == "token" ? 1 : 0; });
    }
    running.wait();
    may_end.count_down();
  }
  CHECK(served == 8);
  CHECK(runs == 1);
}

// A plugin that is a shell script.
ExecPlugin scripted(const TempFolder& folder, const std::string& script) {
  ExecPlugin plugin;
  plugin.api_version = "client.authentication.k8s.io/v1";
  plugin.command = folder.write("plugin", "#!/bin/sh\n" + script + "\n");
  plugin.interactive = ExecPlugin::Interactive::kNever;
  chmod(plugin.command.c_str(), 0700);
  return plugin;
}

TEST_CASE("a plugin is run with its arguments, its environment and the protocol's",
          "[kube][exec]") {
  const TempFolder folder;
  const CallLimit limit;
  ExecPlugin plugin = scripted(folder, R"(test "$KUBERNETES_EXEC_INFO" || exit 1
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",'
printf '"status":{"token":"%s %s"}}' "$1" "$WHO")");
  plugin.args = {"hello there"};
  plugin.env = {"WHO=you"};
  const auto credential = run_exec_plugin(plugin, limit);
  REQUIRE(credential);
  CHECK(credential->token == "hello there you");
}

TEST_CASE("a plugin that fails is an error with its output", "[kube][exec]") {
  const TempFolder folder;
  const CallLimit limit;
  ExecPlugin plugin = scripted(folder, "echo SECRET; echo please log in >&2; exit 7");
  plugin.install_hint = "see example.test";
  const auto credential = run_exec_plugin(plugin, limit);
  REQUIRE_FALSE(credential);
  CHECK(credential.error().code == Code::kTransient);
  CHECK_THAT(credential.error().message,
             ContainsSubstring("exit code 7: please log in; see example.test") &&
                 !ContainsSubstring("SECRET"));
}

TEST_CASE("a plugin that is not installed is an error with its install hint", "[kube][exec]") {
  const CallLimit limit;
  ExecPlugin plugin;
  plugin.command = "nervex-no-such-plugin";
  plugin.install_hint = "see example.test";
  CHECK(run_exec_plugin(plugin, limit).error().message ==
        "credential plugin nervex-no-such-plugin: No such file or directory; see example.test");
}

TEST_CASE("a plugin that hangs does not keep the program from ending", "[kube][exec]") {
  const TempFolder folder;
  CallLimit limit;
  const ExecPlugin plugin = scripted(folder, "exec sleep 600");
  limit.set(SystemClock().mono() + 50ms);
  const auto credential = run_exec_plugin(plugin, limit);
  REQUIRE_FALSE(credential);
  CHECK_THAT(credential.error().message, ContainsSubstring("the program is stopping"));
}

}  // namespace
}  // namespace nervex::kube
