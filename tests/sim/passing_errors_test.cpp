// An API server that starts answers 401 or 403 until it has read its keys and roles. That is
// transient: no gang is requeued and no attempt ends.
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/sim/seeds.h"

namespace nervex::testing {
namespace {

using job::Phase;

// The controller works and the planner plans; no pod is scheduled.
void make_pods(Suite& suite, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    suite.deliver_all();
    suite.work();
    suite.scheduling.see();
    suite.scheduling.plan();
    suite.clock.advance(std::chrono::seconds(1));
  }
}

TEST_CASE("no start is requeued for a transient 401 or 403", "[sim][passing]") {
  const int status = GENERATE(401, 403);
  using Denied = Suite::Denied;
  const Denied what = GENERATE(Denied::kAll, Denied::kWrites, Denied::kPodCreations);
  const int writes_before = GENERATE(range(0, 7));
  INFO(status << " for " << static_cast<int>(what) << " after " << writes_before);
  Suite suite(1);
  suite.add_config();
  suite.deny_access(status, what, writes_before);
  make_pods(suite, 20);
  CHECK(suite.rules.seen["request denied"] > 0);
  CHECK(suite.job().status.attempt <= 1);
  suite.end_faults();
  suite.come_to_rest();
  CHECK(suite.job().status.attempt == 1);
  CHECK(suite.job().status.phase == Phase::kRunning);
  CHECK(suite.rules.seen["base gang taken back"] == 0);
  check_rules(suite);
}

TEST_CASE("a request's pods wait for a 403 that passes, and are made then", "[sim][passing]") {
  Suite suite(1);
  suite.add_config();
  suite.start();
  REQUIRE(suite.call_server(0));
  make_pods(suite, 2);
  suite.deny_access(403, Suite::Denied::kPodCreations);
  make_pods(suite, 20);
  suite.end_faults();
  suite.come_to_rest();
  const job::Job job = suite.job();
  CHECK(job.status.attempt == 1);
  CHECK(job.status.replaced.empty());  // nothing was taken back: the names are the first ones
  CHECK(suite.pods().size() == 7);
  check_rules(suite);
}

TEST_CASE("a 403 is final only if the review of our access allows the request", "[sim][passing]") {
  Suite suite(1);
  const bool is_allowed = GENERATE(false, true);
  suite.api.review_access([is_allowed](const Json&) { return is_allowed; });
  suite.refuse_pods("collector", 403);
  suite.settle();
  if (is_allowed) {
    CHECK(suite.job().status.attempt > 1);
  } else {
    CHECK(suite.job().status.attempt == 1);
  }
}

}  // namespace
}  // namespace nervex::testing
