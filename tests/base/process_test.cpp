#include "base/process.h"

#include <csignal>
#include <thread>

#include <catch2/catch_test_macros.hpp>

#include "tests/base/certs.h"

namespace nervex {
namespace {

using namespace std::chrono_literals;

MonoTime mono_now() { return SystemClock().mono(); }

ProcessOptions shell(const std::string& script) { return {.argv = {"sh", "-c", script}}; }

Result<ProcessEnd> run(const ProcessOptions& options, MonoTime::duration time = 20s) {
  const CallLimit limit;
  return run_process(options, mono_now() + time, limit);
}

TEST_CASE("A process returns its output and how it ended", "[base][process]") {
  const auto end = run(shell("echo out; echo err >&2; exit 3"));
  REQUIRE(end);
  CHECK(end->exit_code == 3);
  CHECK(end->out == "out\n");
  CHECK(end->err == "err\n");
}

TEST_CASE("A process ended by a signal is distinguished from one that failed", "[base][process]") {
  CHECK(run(shell("kill -TERM $$"))->exit_code == 128 + SIGTERM);
}

TEST_CASE("Arguments are passed unchanged, without a shell", "[base][process]") {
  const auto end = run({.argv = {"printf", "%s|", "a b", "$HOME", "*", "'"}});
  REQUIRE(end);
  CHECK(end->out == "a b|$HOME|*|'|");
}

TEST_CASE("A process inherits the environment plus additions", "[base][process]") {
  setenv("NERVEX_TEST_OURS", "ours", 1);
  setenv("NERVEX_TEST_BOTH", "ours", 1);
  ProcessOptions options = shell("echo $NERVEX_TEST_OURS $NERVEX_TEST_BOTH $NERVEX_TEST_NEW");
  options.env = {"NERVEX_TEST_BOTH=theirs", "NERVEX_TEST_NEW=a=b"};
  CHECK(run(options)->out == "ours theirs a=b\n");
  unsetenv("NERVEX_TEST_OURS");
  unsetenv("NERVEX_TEST_BOTH");
}

TEST_CASE("A process reads nothing unless it is interactive", "[base][process]") {
  CHECK(run({.argv = {"cat"}})->out.empty());
}

TEST_CASE("A process obeys signals that we block", "[base][process]") {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  REQUIRE(pthread_sigmask(SIG_BLOCK, &blocked, &before) == 0);
  const auto end = run(shell("kill -TERM $$; echo still there"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(end->exit_code == 128 + SIGTERM);
}

TEST_CASE("A process that does not exist cannot be started", "[base][process]") {
  const auto end = run({.argv = {"nervex-no-such-program"}});
  REQUIRE_FALSE(end);
  CHECK(end.error() == Error{Code::kInvalid, "No such file or directory"});
  const test::TestFiles files;
  CHECK(run({.argv = {files.add("text", "no program")}}).error().code == Code::kInvalid);
}

TEST_CASE("A process that hangs is killed at its deadline", "[base][process]") {
  const auto end = run(shell("trap '' TERM INT; exec sleep 600"), 100ms);
  REQUIRE_FALSE(end);
  CHECK(end.error() == Error{Code::kTransient, "timed out, killed"});
}

TEST_CASE("A process is killed when the program stops", "[base][process]") {
  CallLimit limit;
  std::optional<Result<ProcessEnd>> end;
  {
    const std::jthread caller(
        [&] { end = run_process(shell("exec sleep 600"), mono_now() + 1h, limit); });
    limit.set(mono_now());
  }
  REQUIRE_FALSE(*end);
  CHECK(end->error() == Error{Code::kTransient, "the program is stopping"});
}

TEST_CASE("A process that writes too much is killed", "[base][process]") {
  for (const char* stream : {"", ">&2"}) {
    ProcessOptions options = shell(std::string("yes ") + stream);
    options.max_output = 100'000;
    CHECK(run(options).error().code == Code::kTransient);
  }
}

TEST_CASE("Background children of a process are not waited for", "[base][process]") {
  const auto end = run(shell("sleep 600 & echo $!"));  // it holds both streams
  REQUIRE(end);
  kill(std::stoi(end->out), SIGKILL);
}

TEST_CASE("A process in the background is read line by line and killed at the end",
          "[base][process]") {
  const auto soon = [] { return SystemClock().mono() + std::chrono::seconds(10); };
  pid_t pid = 0;
  {
    auto process = BackgroundProcess::start(shell("echo $$; echo two; exec sleep 600"));
    REQUIRE(process);
    const auto first = process->read_line(soon());
    REQUIRE(first);
    pid = std::stoi(*first);
    CHECK(*process->read_line(soon()) == "two");
    const auto none = process->read_line(SystemClock().mono());
    REQUIRE_FALSE(none);
    CHECK(none.error() == Error{Code::kTransient, "it said nothing in time"});
    CHECK(kill(pid, 0) == 0);
  }
  CHECK(kill(pid, 0) != 0);
}

TEST_CASE("A process in the background that ends says why", "[base][process]") {
  auto process = BackgroundProcess::start(shell("echo 'no such service' >&2; exit 1"));
  REQUIRE(process);
  const auto line = process->read_line(SystemClock().mono() + std::chrono::seconds(10));
  REQUIRE_FALSE(line);
  CHECK(line.error() == Error{Code::kTransient, "it ended: no such service"});
  ProcessOptions absent;
  absent.argv = {"/no/such/program"};
  CHECK(BackgroundProcess::start(absent).error().code == Code::kInvalid);
}

}  // namespace
}  // namespace nervex
