// A retry, and pods of the attempt before that take their time to end.
#include "controller/decide/attempt/previous_attempt.h"
#include "controller/decide/make_round.h"
#include "controller/decide/reasons.h"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using namespace std::chrono_literals;
using job::Phase;
using job::Role;
using testing::a_job;
using testing::World;
using Strings = std::vector<std::string>;

constexpr const char* kCoordinator = "dqn-coordinator";

// The coordinator of a job with two collectors has failed, and attempt 2 begins when its back-off
// is over.
struct Retry : World {
  const std::string collector = name(Role::kCollector, 1);
  SysTime queued;

  Retry() : World(job()) {
    start();
    queued = seen.pod_groups.front()->spec.queued_since;
    created.clear();
  }
  static job::Job job() {
    job::Job job = a_job(2, 0);
    job.spec.backoff_limit = 1;
    return job;
  }
  // Then a user deletes that pod, or the controller has.
  void fail(const std::string& slow, std::chrono::seconds grace) {
    end(kCoordinator, false);
    look();
    apply(reconcile(seen).actions);
    REQUIRE(seen.job.status.attempt == 2);
    change_pod(slow, [&](kube::Pod& changed) {
      changed.meta.deleting = true;
      changed.deletion_timestamp = seen.now + grace;
    });
    REQUIRE(settle() >= 0);
    deleted.clear();
  }
  void pass(std::chrono::seconds time) {
    seen.now += time;
    REQUIRE(settle() >= 0);
  }
  std::string reason() const { return seen.job.status.reason; }
  std::string scheduled() const { return find_condition(seen.job.status, kScheduled)->message; }
};

TEST_CASE("an attempt is not planned while a pod of an earlier one ends slowly",
          "[controller][attempts]") {
  Retry world;
  const std::string slow = GENERATE_COPY(std::string(kCoordinator), world.collector);
  world.fail(slow, 1h);
  CHECK(world.pod_names() == Strings{slow});
  world.pass(20s);
  CHECK(world.seen.pod_groups.empty());
  CHECK(world.reason() == "PreviousAttemptTerminating");
  CHECK(world.scheduled() ==
        "pod " + slow + " of an earlier attempt is terminating until " +
            to_rfc3339(world.seen.now + 1h - 20s) +
            ": attempt 2 starts when it is deleted; to delete it now: kubectl delete pod -n rl " +
            slow + " --now");
  CHECK(reconcile(world.seen).requeue_after == 1h - 20s - 60s);

  SECTION("and starts when that pod is deleted, with its place in the queue") {
    world.remove_pod(slow);
    world.pass(1s);
    CHECK(world.created == Strings{"podgroup dqn-2"});
    CHECK(world.seen.pod_groups.front()->spec.queued_since == world.queued);
    CHECK(world.reason() == "Queued");
    world.plan();
    world.settle();
    world.run_all();
    world.settle();
    CHECK(world.seen.job.status.phase == Phase::kRunning);
  }
  SECTION("or when that pod is about to end") {
    world.pass(1h - 20s - 60s);
    CHECK(world.created == Strings{"podgroup dqn-2"});
    CHECK(world.reason() == "Queued");
  }
}

TEST_CASE("a retry does not wait for pods that end soon or do not block it",
          "[controller][attempts]") {
  Retry world;
  SECTION("they end soon") { world.fail(world.collector, 45s); }
  SECTION("their slots are not in the initial gang") {
    world.seen.job.spec.collector->replicas = 1;
    world.fail(world.collector, 1h);
  }
  world.pass(20s);
  CHECK(world.created == Strings{"podgroup dqn-2"});
  CHECK(world.reason() == "Queued");
}

TEST_CASE("a plan that waits for a pod that does not end in time is released",
          "[controller][attempts]") {
  Retry world;
  world.fail(world.collector, 45s);
  world.pass(20s);
  world.plan();
  world.pass(1s);
  REQUIRE(world.created.size() > 1);  // all but the one whose slot is held, and the coordinator
  REQUIRE(world.pod_names() == Strings{world.name(Role::kCollector, 0), world.collector});
  CHECK(time_until_in_the_way(make_round(world.seen)) == 45s + 30s - 21s);
  world.created.clear();

  SECTION("until that pod is deleted") {
    world.pass(45s + 30s - 21s);
    CHECK(std::count(world.deleted.begin(), world.deleted.end(), "podgroup dqn-2") == 1);
    CHECK(world.created.empty());
    CHECK(world.pod_names() == Strings{world.collector});
    CHECK(world.reason() == "PreviousAttemptTerminating");
    CHECK(world.scheduled().starts_with("pod " + world.collector +
                                        " of an earlier attempt should have ended at "));
    CHECK(world.scheduled().find(
              " and still exists on node n1: attempt 2 starts when it is deleted; "
              "its node does not respond or cannot stop its containers: ") != std::string::npos);
    world.remove_pod(world.collector);
    world.pass(1s);
    CHECK(world.created == Strings{"podgroup dqn-2"});
    CHECK(world.seen.pod_groups.front()->spec.queued_since == world.queued);
    CHECK(world.seen.job.status.attempt == 2);
  }
  SECTION("but not if it was committed") {
    world.commit();
    world.pass(10min);
    CHECK(world.seen.pod_groups.size() == 1);
  }
  SECTION("but not if a pod of it is bound") {
    world.bind(world.name(Role::kCollector, 0));
    world.pass(10min);
    CHECK(world.seen.pod_groups.size() == 1);
  }
}

}  // namespace
}  // namespace nervex::controller
