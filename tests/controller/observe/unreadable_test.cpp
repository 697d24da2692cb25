// A job that this version cannot read: stored by a newer one, or without admission. It exists, and
// its objects do not count as those of a deleted job.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "controller/decide/objects/endpoint_slices.h"
#include "tests/controller/cluster.h"

namespace nervex::controller {
namespace {

using testing::ControllerCluster;
using testing::kJobKey;
using Strings = std::vector<std::string>;

// It runs, its pods have names, one of them is being deleted, and the controller has restarted
// since the job cannot be read any more.
struct UnreadableCluster : ControllerCluster {
  UnreadableCluster() : ControllerCluster(true) {
    create_job(2, 0);
    plan_and_run();
    process();
    set_phase("Newer");
    api.terminate_pods_slowly();
    ending = names(kube::kPods).front();
    api.change(kube::kPods, "rl", ending,
               {{"metadata", {{"deletionTimestamp", to_rfc3339(clock.now())}}}});
    restart();
    api.clear_writes();
  }
  void set_phase(const char* phase) {
    api.change(kube::kNervexJobs, "rl", "dqn", {{"status", {{"phase", phase}}}});
  }
  void process() {
    for (int i = 0; i < 5; ++i) {
      sync();
      controller->worker.process(kJobKey);
      controller->worker.process(orphans_key("rl"));
      clock.advance(EndpointSliceWriter::kPeriod);
      controller->slices.process(orphans_key("rl"));
    }
  }
  // Until its finalizer is taken off.
  bool is_there(const std::string& pod) const { return !api.get(kube::kPods, "rl", pod).is_null(); }

  std::string ending;
};

TEST_CASE("an unreadable job's objects are not touched, and an event says why",
          "[controller][observe]") {
  UnreadableCluster cluster;
  const auto slices = cluster.api.list(kEndpointSlices);
  REQUIRE(slices.size() == 1);
  REQUIRE(cluster.is_there(cluster.ending));
  cluster.process();
  CHECK(cluster.api.list(kEndpointSlices) == slices);
  CHECK(cluster.names(kube::kServices) == Strings{"rl"});
  CHECK(cluster.is_there(cluster.ending));
  const auto told = cluster.event_reasons();
  CHECK(std::count(told.begin(), told.end(), "Unreadable") == 1);
  for (const auto& write : cluster.api.writes())
    CHECK(write.path.find("/events") != std::string::npos);

  SECTION("when it can be read again it continues") {
    cluster.set_phase("Running");
    cluster.process();
    CHECK_FALSE(cluster.is_there(cluster.ending));
    CHECK(cluster.job().status.phase == job::Phase::kRunning);
  }
  SECTION("when it is being deleted its pods may go") {
    cluster.api.change(kube::kNervexJobs, "rl", "dqn",
                       {{"metadata",
                         {{"deletionTimestamp", to_rfc3339(cluster.clock.now())},
                          {"finalizers", {"foregroundDeletion"}}}}});
    cluster.process();
    CHECK_FALSE(cluster.is_there(cluster.ending));
  }
  SECTION("when it is deleted all its objects are deleted") {
    cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
    cluster.process();
    CHECK_FALSE(cluster.is_there(cluster.ending));
    CHECK(cluster.names(kube::kServices).empty());
    CHECK(cluster.api.list(kEndpointSlices).empty());
  }
}

}  // namespace
}  // namespace nervex::controller
