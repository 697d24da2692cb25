#include "controller/decide/round/attempt.h"
#include "controller/decide/attempt/queueing.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <set>

#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::a_job;

job::Job a_job_with_requests() {
  job::Job job = a_job(0, 0);
  job.spec.requests.next_collector = job.status.next_collector = job::kFirstRequestedOrdinal + 2;
  return job;
}

void set_lost(job::Job& job, bool is_lost) {
  job::set_condition(job.status, {std::string(kRequestsLost), is_lost, "Any", "", {}, 1});
}

TEST_CASE("requests that were never made, or that exist, are not lost", "[controller][requests]") {
  CHECK_FALSE(requests_lost(a_job()));
  job::Job job = a_job_with_requests();
  CHECK_FALSE(requests_lost(job));
  ++job.spec.requests.next_learner;  // newer than the status
  CHECK_FALSE(requests_lost(job));
}

TEST_CASE("requests are lost when the spec counts fewer than were seen", "[controller][requests]") {
  job::Job job = a_job_with_requests();
  job.spec.requests = {};
  CHECK(requests_lost(job));
}

TEST_CASE("a loss is not undone by the next request", "[controller][requests]") {
  job::Job job = a_job_with_requests();
  set_lost(job, true);
  CHECK(requests_lost(job));
}

TEST_CASE("a loss in an earlier attempt does not count in this one", "[controller][requests]") {
  job::Job job = a_job_with_requests();
  job.spec.requests = {};
  set_lost(job, false);
  CHECK_FALSE(requests_lost(job));
}

// -- the first place in the queue

using std::chrono::milliseconds;

kube::Meta created_at(SysTime created, std::string uid) {
  kube::Meta meta;
  meta.created = created;
  meta.uid = std::move(uid);
  return meta;
}

TEST_CASE("a job is queued by its creation time", "[controller][queue]") {
  const SysTime second = *parse_rfc3339("2026-11-21T14:00:00Z");
  const auto place = [&](milliseconds seen, std::string uid) {
    return first_place_in_queue(created_at(second, std::move(uid)), second + seen) - second;
  };
  // As they came until the last of that second; UIDs do not count.
  CHECK(place(milliseconds(20), "b") == milliseconds(19));
  CHECK(place(milliseconds(700), "a") == milliseconds(665));
  CHECK(place(milliseconds(960), "c") < place(milliseconds(980), "a"));
  CHECK(place(milliseconds(999), "a") < milliseconds(950));
  // Even with a wrong clock or after a long absence of the controller.
  for (const milliseconds seen : {milliseconds(-3'600'000), milliseconds(-1), milliseconds(1'000),
                                  milliseconds(86'400'000)}) {
    INFO("seen after " << seen.count() << " ms");
    CHECK(place(seen, "a") >= milliseconds(950));
    CHECK(place(seen, "a") < milliseconds(1'000));
    CHECK(place(seen, "a") == place(milliseconds(5'000), "a"));
  }
}

TEST_CASE("jobs that were seen late are not ordered by name", "[controller][queue]") {
  const SysTime second = *parse_rfc3339("2026-11-21T14:00:00Z");
  std::set<SysTime> places;
  for (int i = 0; i < 100; ++i) {
    const std::string uid = "3e9c6a40-0000-4000-8000-0000000000" + std::to_string(10 + i % 90);
    places.insert(first_place_in_queue(created_at(second, uid), second + std::chrono::hours(1)));
  }
  CHECK(places.size() > 20);
}

TEST_CASE("a job that a version without queuedSince has queued keeps its place",
          "[controller][queue]") {
  job::Job job = a_job();
  job.meta.created = *parse_rfc3339("2026-11-21T14:00:00Z");
  CHECK(place_in_queue(job, nullptr) == job.meta.created);
  const SysTime resumed = *parse_rfc3339("2026-11-21T15:00:00Z");
  job::set_condition(job.status, {std::string(kSuspended), false, "Resumed", "", resumed, 1});
  CHECK(place_in_queue(job, nullptr) == resumed);
  job.status.queued_since = resumed + milliseconds(250);
  CHECK(place_in_queue(job, nullptr) == resumed + milliseconds(250));
}

// An upgrade with a thousand jobs would else change a thousand PodGroups, for nothing.
TEST_CASE("the PodGroup of a job that such a version has queued stays as it is",
          "[controller][queue]") {
  testing::World world(a_job(1, 0));
  world.seen.job.meta.created = std::chrono::floor<std::chrono::seconds>(world.seen.now);
  world.start();
  const SysTime queued = world.seen.job.meta.created + milliseconds(1'250);
  world.seen.job.status.queued_since.reset();
  world.change_group([&](gang::PodGroup& group) { group.spec.queued_since = queued; });
  const auto generation = world.seen.pod_groups[0]->meta.generation;
  CHECK(world.settle() == 0);
  CHECK(world.seen.pod_groups[0]->meta.generation == generation);
  world.change_pod("dqn-coordinator", [](kube::Pod& pod) { pod.node_lost = "n1 is gone"; });
  world.settle();
  CHECK(world.seen.job.status.attempt == 2);
  CHECK(world.seen.job.status.queued_since == queued);
}

}  // namespace
}  // namespace nervex::controller
