// The metrics of the real programs. Run with NERVEX_RENEW_GOLDEN=1 to write the golden
// files again, and read the difference: people have alerts on these names.
#include <cstdlib>
#include <fstream>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_container_properties.hpp>

#include <fmt/format.h>

#include "base/http/client.h"
#include "tests/base/raw_socket.h"
#include "tests/programs/running.h"
#include "tests/support/exposition.h"
#include "tests/support/golden.h"
#include "tests/support/wait_until.h"

namespace nervex::testing {
namespace {

TEST_CASE("names, types and help of the metrics are as recorded", "[programs][metrics][golden]") {
  const std::string name = GENERATE(from_range(kPrograms));
  INFO(name);
  const std::string nobody = "http://127.0.0.1:" + std::to_string(test::unused_port());
  RunningProgram program(name, nobody);
  if (name == "server") {
    HttpClient caller({"http://127.0.0.1:" + std::to_string(program.port())});
    REQUIRE(caller.send("GET", "/v1alpha1/replicas", {}, "", ""));
  }
  HttpClient client({"http://127.0.0.1:" + std::to_string(program.metrics_port())});
  std::string text;
  // It appears with the first request, which gets no answer.
  REQUIRE(wait_until([&] {
    const auto reply = client.send("GET", "/metrics", {}, "", "");
    REQUIRE(reply);
    text = reply->body;
    return text.find("rest_client_requests_total{code=\"<error>\"") != std::string::npos;
  }));
  INFO(text);
  CHECK_THAT(exposition_problems(text), Catch::Matchers::IsEmpty());
  const std::string file = fmt::format("metrics/nervex-{}.txt", name);
  if (std::getenv("NERVEX_RENEW_GOLDEN") != nullptr) {
    std::ofstream(fmt::format("{}/tests/golden/{}", NERVEX_SOURCE_DIR, file))
        << exposition_heads(text);
  }
  CHECK(exposition_heads(text) == golden(file));
}

TEST_CASE("a standby reports that it does not lead", "[programs][metrics]") {
  const std::string name = GENERATE("controller", "extender");
  const HungApiServer api;
  RunningProgram program(name, api.url());
  HttpClient client({"http://127.0.0.1:" + std::to_string(program.metrics_port())});
  const auto reply = client.send("GET", "/metrics", {}, "", "");
  REQUIRE(reply);
  const auto status = fmt::format("leader_election_master_status{{name=\"nervex-{}\"}} 0\n", name);
  CHECK(reply->body.find(status) != std::string::npos);
}

}  // namespace
}  // namespace nervex::testing
