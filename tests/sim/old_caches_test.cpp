// Decisions while one cache is stale: before anything is deleted as unwanted, or leaves a
// PodGroup, the job itself is read; before an attempt ends because it has not started, its PodGroup
// and pods.
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

// The gang is committed and bound and runs, and the controller has seen nothing of it.
void start_unseen(Suite& suite) {
  const auto runs = [&] {
    const Json pod = suite.pod("dqn-coordinator");
    return kube::string_at(pod, {"status", "phase"}) == "Running";
  };
  for (int round = 0; round < 20 && !runs(); ++round) {
    suite.deliver_all();
    suite.work();
    suite.environment();
  }
  REQUIRE(runs());
}

TEST_CASE("an attempt that runs unseen does not end for want of a start", "[sim][old_caches]") {
  // 1: kube-scheduler binds all pods; 3: pods are created with their nodes, the coordinator apart.
  Suite suite(GENERATE(1U, 3U));
  const std::string why = GENERATE("AggregatorConfig", "scheduleTimeout", "startTimeout");
  INFO(why);
  if (why == "scheduleTimeout") suite.set_spec({{"scheduleTimeoutSeconds", 60}});
  if (why == "startTimeout") suite.set_spec({{"startTimeoutSeconds", 60}});
  start_unseen(suite);
  const auto pods = suite.pods();
  if (why == "startTimeout") {  // it is due only after a pod was seen bound
    suite.deliver(kPodFeed, suite.position(kPodFeed) + 1);
  }
  suite.add_config();
  suite.deliver(kConfigFeed, suite.api.resource_version());
  for (int round = 0; round < 10; ++round) {
    suite.clock.advance(std::chrono::seconds(30));
    suite.work_anyway();
  }
  check_rules(suite);
  CHECK(suite.pods() == pods);
  suite.come_to_rest();
  check_rules(suite);
  CHECK(suite.pods() == pods);
  CHECK(suite.job().status.attempt == 1);
}

// A pod changes between any two looks: by its owner, or a kubelet that pulls an image.
TEST_CASE("an attempt whose pods keep changing ends as not started", "[sim][old_caches]") {
  Suite suite(1);
  suite.set_spec({{"startTimeoutSeconds", 60}});
  for (int round = 0; round < 20 && suite.job().status.attempt == 1; ++round) {
    suite.deliver_all();
    suite.work();
    suite.scheduling.see();
    suite.scheduling.plan();
    suite.scheduling.schedule();  // and no kubelet
    suite.clock.advance(std::chrono::seconds(10));
    for (const auto& name : suite.pods()) {
      suite.api.change(kube::kPods, kNamespace, name,
                       {{"metadata", {{"annotations", {{"round", std::to_string(round)}}}}}});
    }
    suite.work_anyway();
  }
  CHECK(suite.job().status.attempt == 2);
  check_rules(suite);
}

}  // namespace
}  // namespace nervex::testing
