// How the real programs end. The limit of each wait is generous; the duration is printed.
#include <fmt/format.h>

#include <csignal>
#include <iostream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "base/http/client.h"
#include "tests/base/raw_socket.h"
#include "tests/programs/running.h"

namespace nervex::testing {
namespace {

using namespace std::chrono_literals;
using test::RawSocket;

// SIGTERM must be enough within 5 s; the rest is for a machine that is busy.
constexpr auto kBound = 20s;

void check_ends_well(RunningProgram& program, const std::string& what) {
  program.signal(SIGTERM);
  const auto ended = program.wait(kBound);
  INFO(program.log());
  REQUIRE(ended.has_value());
  CHECK(ended->exit_code == 0);
  CHECK(program.log().find("stopped") != std::string::npos);
  std::cout << fmt::format("  {}: {} ms\n", what, ended->took.count());
}

std::vector<int> listening_ports(const RunningProgram& program) {
  std::vector<int> ports{program.metrics_port()};
  if (program.port() != 0) ports.push_back(program.port());
  return ports;
}

TEST_CASE("a program exits on SIGTERM, with idle connections open", "[programs][stop]") {
  const std::string name = GENERATE(from_range(kPrograms));
  INFO(name);
  const std::string nobody = "http://127.0.0.1:" + std::to_string(test::unused_port());
  RunningProgram program(name, nobody);
  std::vector<RawSocket> idle;
  for (const int port : listening_ports(program)) {
    for (int i = 0; i < 200; ++i) {
      idle.push_back(RawSocket::connect_to(port));
      const bool is_plain = port == program.metrics_port() || !program.uses_tls();
      if (is_plain) idle.back().send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
      if (is_plain) CHECK(test::reply_status(idle.back().receive_message()) == 200);
    }
  }
  check_ends_well(program, name + " with 200 idle connections");
}

TEST_CASE("a program ends when the API server does not answer", "[programs][stop]") {
  const std::string name = GENERATE(from_range(kPrograms));
  INFO(name);
  const HungApiServer api;
  RunningProgram program(name, api.url());
  check_ends_well(program, name + " with an API server that hangs");
}

TEST_CASE("a program ends when a caller never finishes its request", "[programs][stop]") {
  const std::string name = GENERATE(from_range(kPrograms));
  INFO(name);
  const HungApiServer api;
  RunningProgram program(name, api.url());
  std::vector<RawSocket> slow;
  for (const int port : listening_ports(program)) {
    slow.push_back(RawSocket::connect_to(port));
    slow.back().send("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf");
    slow.push_back(RawSocket::connect_to(port));
    slow.back().send("GET /hea");
  }
  check_ends_well(program, name + " with callers in the middle of a request");
}

TEST_CASE("a program is not ready from SIGTERM on, and still answers for the delay",
          "[programs][stop]") {
  const std::string name = GENERATE(from_range(kPrograms));
  INFO(name);
  const HungApiServer api;
  RunningProgram program(name, api.url(), {"--shutdown-delay=2s"});
  const std::string base = "http://127.0.0.1:" + std::to_string(program.metrics_port());
  HttpClient client({base});
  const auto get = [&](const std::string& path) { return client.send("GET", path, {}, "", ""); };
  REQUIRE(get("/healthz"));
  program.signal(SIGTERM);
  bool told = false;
  bool alive = false;
  while (!told) {  // until the program is gone, or says it
    const auto ready = get("/readyz");
    if (!ready) break;
    told = ready->body.find("shutting down") != std::string::npos;
    const auto health = get("/healthz");
    alive = health && health->status == 200;
  }
  CHECK(told);
  CHECK(alive);
  const auto ended = program.wait(kBound);
  REQUIRE(ended.has_value());
  CHECK(ended->exit_code == 0);
}

TEST_CASE("a second signal ends a program at once", "[programs][stop]") {
  const std::string name = GENERATE(from_range(kPrograms));
  INFO(name);
  const HungApiServer api;
  RunningProgram program(name, api.url(), {"--shutdown-delay=3s"});
  program.signal(SIGTERM);
  const auto early = program.wait(100ms);
  REQUIRE_FALSE(early.has_value());
  const std::string base = "http://127.0.0.1:" + std::to_string(program.metrics_port());
  HttpClient client({base});
  for (;;) {  // until it has noticed the first one
    const auto ready = client.send("GET", "/readyz", {}, "", "");
    REQUIRE(ready);
    if (ready->body.find("shutting down") != std::string::npos) break;
  }
  program.signal(SIGINT);
  const auto ended = program.wait(kBound);
  REQUIRE(ended.has_value());
  CHECK(ended->exit_code == 1);
  CHECK(program.log().find("a second signal") != std::string::npos);
}

}  // namespace
}  // namespace nervex::testing
