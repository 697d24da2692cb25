#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>
#include <vector>

#include "controller/decide/make_round.h"
#include "controller/decide/objects/pod_group.h"
#include "controller/decide/round/condition.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::a_job;
using testing::World;
using Strings = std::vector<std::string>;

constexpr std::int64_t kMost = 80'000;
constexpr std::int64_t kShare = 10'000;  // of a namespace, if the others have all
constexpr const char* kMessage =
    "the jobs of namespace rl may ask for 80000 pods together, and those of all namespaces for "
    "320000 "
    "(nervex-controller --max-pods-per-namespace): this job gets its pods when others have ended "
    "or ask for fewer";

TEST_CASE("a job waits without a PodGroup while its namespace asks for too many pods",
          "[controller][limits]") {
  World world(a_job(2, 1));  // four pods
  world.seen.group_pods.max_of_namespace = kMost;
  SECTION("of the namespace") { world.seen.group_pods = {kMost - 3, kMost - 3, kMost}; }
  SECTION("of all namespaces") { world.seen.group_pods = {kShare - 3, 4 * kMost - 3, kMost}; }
  CHECK(world.settle() >= 0);
  CHECK(world.created.empty());
  CHECK(world.seen.job.status.reason == "TooManyPods");
  CHECK(find_condition(world.seen.job.status, "Scheduled")->message == kMessage);
  CHECK(reconcile(world.seen).requeue_after == std::chrono::minutes(1));

  world.seen.group_pods = {kMost - 4, 4 * kMost - 4, kMost};
  CHECK(world.settle() >= 0);
  CHECK(world.created == Strings{"podgroup dqn-1"});
}

TEST_CASE("reserved capacity counts as pods", "[controller][limits]") {
  job::Job job = a_job(1, 1);
  job.spec.collector->reserved_replicas = 98;
  World world(std::move(job));
  world.seen.group_pods.max_of_namespace = kMost;
  CHECK(world.settle() >= 0);
  CHECK(world.seen.job.status.reason == "Queued");
  REQUIRE(world.seen.pod_groups.size() == 1);
  CHECK(count_pods(world.seen.pod_groups[0]->spec) == 100);
}

TEST_CASE("a job that runs gets no more pods than the limit leaves", "[controller][limits]") {
  World world(a_job(2, 1));
  world.seen.group_pods.max_of_namespace = kMost;
  world.start();
  world.seen.group_pods = {kMost - 1, kMost - 1, kMost};
  const auto pods = [&] { return count_pods(world.seen.pod_groups.at(0)->spec); };
  REQUIRE(pods() == 4);

  world.seen.job.spec.collector->replicas = 4;
  CHECK(world.settle() >= 0);
  CHECK(pods() == 4);
  const auto* waits = find_condition(world.seen.job.status, "RequestsScheduled");
  REQUIRE(waits != nullptr);
  CHECK(waits->reason == "TooManyPods");
  CHECK(waits->message == kMessage);

  SECTION("it may ask for fewer") {
    world.seen.job.spec.collector->replicas = 1;
    CHECK(world.settle() >= 0);
    CHECK(pods() == 3);
  }
  SECTION("others end") {
    world.seen.group_pods = {kMost - 2, kMost - 2, kMost};
    CHECK(world.settle() >= 0);
    CHECK(pods() == 6);
  }
  SECTION("one of its pods is lost") {
    world.seen.group_pods = {kMost, kMost, kMost};
    world.remove_pod(world.name(job::Role::kCollector, 1));
    CHECK(world.settle() >= 0);
    CHECK(pods() == 4);
    const gang::MemberSet* set = gang::find_set(world.seen.pod_groups.at(0)->spec, "collector");
    REQUIRE(set != nullptr);
    CHECK(gang::wants(*set, "collector", {1, 1}));
  }
}

TEST_CASE("a job that has begun keeps its place", "[controller][limits]") {
  World world(a_job(2, 1));
  world.seen.group_pods.max_of_namespace = kMost;
  world.start();
  world.seen.group_pods = {kMost, kMost, kMost};
  const Attempt next;  // its PodGroup is to be created
  job::Status& status = world.seen.job.status;
  status.attempt = 2;
  CHECK(make_round(world.seen, next).exceeds_pod_limit);  // it was suspended
  status.last_attempt = job::LastAttempt{1, "CoordinatorFailed", 1, "", {}};
  CHECK_FALSE(make_round(world.seen, next).exceeds_pod_limit);
  status.attempt = 3;  // and suspended then
  CHECK(make_round(world.seen, next).exceeds_pod_limit);
}

TEST_CASE("reserved capacity stays as it is while there is no space", "[controller][limits]") {
  job::Job job = a_job(1, 1);
  job.spec.collector->reserved_replicas = 5;
  World world(std::move(job));
  world.seen.group_pods.max_of_namespace = kMost;
  CHECK(world.settle() >= 0);
  const auto reserved = [&] {
    const auto* set = gang::find_set(world.seen.pod_groups.at(0)->spec, "collector");
    return set == nullptr ? -1 : set->reserved_pods;
  };
  CHECK(reserved() == 4);
  world.seen.group_pods = {kMost, kMost, kMost};
  SECTION("more is not reserved") {
    world.seen.job.spec.collector->reserved_replicas = 8;
    CHECK(world.settle() >= 0);
    CHECK(reserved() == 4);
  }
  SECTION("replicas that it does not get take nothing of it") {
    world.seen.job.spec.collector->replicas = 20;
    CHECK(world.settle() >= 0);
    CHECK(reserved() == 4);
    CHECK(count_pods(world.seen.pod_groups.at(0)->spec) == 7);
  }
  world.seen.group_pods = {kMost / 2, kMost / 2, kMost};
  CHECK(world.settle() >= 0);
  CHECK(count_pods(world.seen.pod_groups.at(0)->spec) > 7);
}

TEST_CASE("without a limit any number of pods is asked for", "[controller][limits]") {
  World world(a_job(2, 1));
  world.seen.group_pods = {1'000'000'000, 1'000'000'000, 0};
  CHECK(world.settle() >= 0);
  CHECK(world.created == Strings{"podgroup dqn-1"});
}

}  // namespace
}  // namespace nervex::controller
