// Decisions while one cache is stale: before anything is deleted as unwanted, or leaves a
// PodGroup, the job itself is read.
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/sim/seeds.h"

namespace nervex::testing {
namespace {

TEST_CASE("an old job beside a current PodGroup takes nothing out of it", "[sim][old_caches]") {
  const unsigned asked = GENERATE(0U, 1U);
  Suite suite(1);
  suite.add_config();
  suite.start();
  REQUIRE(suite.call_server(0));  // so that the status says what it will say of a second request
  suite.settle();
  const std::int64_t before = suite.api.resource_version();
  REQUIRE(suite.call_server(asked));
  suite.settle();
  const auto pods = suite.pods();
  // As if no caller had waited for the caches: the job's is from before the call, and pods and
  // services may be.
  const std::int64_t missed = suite.api.resource_version() - before;
  const bool old_pods = GENERATE(true, false);
  const bool old_services = GENERATE(true, false);
  suite.take_over({missed, old_pods ? missed : 0, old_services ? missed : 0, 0, 0}, false);
  for (int round = 0; round < 10; ++round) {
    suite.work_anyway();
    if (round == 5) suite.deliver(kPodFeed, suite.api.resource_version());  // the job lags on
    suite.clock.advance(std::chrono::seconds(10));
  }
  check_rules(suite);
  CHECK(suite.pods() == pods);
  suite.come_to_rest();
  check_rules(suite);
  CHECK(suite.pods() == pods);
}

TEST_CASE("raised base replicas survive a job cache from before", "[sim][old_caches]") {
  Suite suite(1);
  suite.add_config();
  suite.start();
  REQUIRE(suite.call_server(0));  // so that the status says what it will say of a second request
  suite.settle();
  const std::int64_t before = suite.api.resource_version();
  suite.set_spec({{"collector", {{"replicas", 4}}}});
  suite.settle();
  const auto pods = suite.pods();
  const std::int64_t missed = suite.api.resource_version() - before;
  const bool old_pods = GENERATE(true, false);
  suite.take_over({missed, old_pods ? missed : 0, old_pods ? missed : 0, 0, 0}, false);
  for (int round = 0; round < 10; ++round) {
    suite.work_anyway();
    suite.clock.advance(std::chrono::seconds(10));
  }
  check_rules(suite);
  CHECK(suite.pods() == pods);
  suite.come_to_rest();
  check_rules(suite);
}

}  // namespace
}  // namespace nervex::testing
