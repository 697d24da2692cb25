#include "base/error.h"

#include <csignal>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex {
namespace {

TEST_CASE("A result holds a value or an error", "[base][error]") {
  const Result<int> value = 7;
  CHECK(value.has_value());
  CHECK(*value == 7);
  CHECK_THROWS_AS(value.error(), std::bad_variant_access);

  const Result<int> failed = Error{Code::kConflict, "stale"};
  CHECK_FALSE(failed);
  CHECK(failed.error() == Error{Code::kConflict, "stale"});
  CHECK_THROWS_AS(*failed, std::bad_variant_access);
}

TEST_CASE("A value that cannot be copied is moved out of a result", "[base][error]") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = *std::move(result);
  CHECK(*taken == 3);
}

TEST_CASE("Context goes in front of the message and keeps the code", "[base][error]") {
  CHECK(with_context("watch pods", Error{Code::kTransient, "connection refused"}) ==
        Error{Code::kTransient, "watch pods: connection refused"});
}

TEST_CASE("Every code has a name", "[base][error]") {
  using Row = std::pair<Code, std::string>;
  const auto& [code, name] = GENERATE(values<Row>({{Code::kInvalid, "invalid"},
                                                   {Code::kNotFound, "not found"},
                                                   {Code::kConflict, "conflict"},
                                                   {Code::kExpired, "expired"},
                                                   {Code::kTransient, "transient"},
                                                   {Code::kUnauthorized, "unauthorized"},
                                                   {Code::kForbidden, "forbidden"},
                                                   {Code::kInternal, "internal"}}));
  CHECK(to_string(code) == name);
}

TEST_CASE("A failed check aborts the process, a passed one does not", "[base][error]") {
  NERVEX_CHECK(1 + 1 == 2);

  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // not Catch2's handler
    fclose(stderr);
    NERVEX_CHECK(1 + 1 == 3);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGABRT);
}

}  // namespace
}  // namespace nervex
