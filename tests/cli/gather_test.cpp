#include "cli/jobs/gather.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/fake_api.h"
#include "tests/support/job_snapshots.h"

namespace nervex::cli {
namespace {

using testing::FakeApi;
using view::at;

const SysTime kNow = at("2026-11-21T14:05:00Z");

// rl/dqn in attempt 1 with its PodGroup, one of its pods, a pod of a deleted job of the same name,
// two events.
struct Cluster {
  FakeApi api;

  Cluster() {
    const Json job = api.add(kube::kNervexJobs, "rl",
                             {{"metadata", {{"name", "dqn"}}},
                              {"spec", {{"coordinator", {{"template", testing::a_template()}}}}},
                              {"status", {{"phase", "Created"}, {"attempt", 1}}}});
    const std::string uid = kube::string_at(job, {"metadata", "uid"});
    api.add(
        kube::kPodGroups, "rl",
        {{"metadata", {{"name", "dqn-1"}}}, {"spec", {{"attempt", 1}, {"gangs", Json::array()}}}});
    add_pod("dqn-coordinator", uid);
    add_pod("dqn-learner-bcdfg", "uid-of-the-past");
    add_event("late", uid, "2026-11-21T14:04:00Z");
    add_event("early", uid, "2026-11-21T14:01:00Z");
    add_event("of another", "uid-of-the-past", "2026-11-21T14:02:00Z");
  }

  void add_pod(const std::string& name, const std::string& owner) {
    api.add(kube::kPods, "rl",
            {{"metadata",
              {{"name", name},
               {"labels", {{"nervexjob-name", "dqn"}}},
               {"ownerReferences", Json::array({{{"kind", "NerveXJob"},
                                                 {"name", "dqn"},
                                                 {"uid", owner},
                                                 {"controller", true}}})}}},
             {"spec", Json::object()}});
  }

  void add_event(const std::string& reason, const std::string& about, const std::string& time) {
    api.add(kube::kEvents, "rl",
            {{"metadata", {{"name", "dqn." + std::to_string(api.resource_version())}}},
             {"involvedObject", {{"uid", about}}},
             {"type", "Warning"},
             {"reason", reason},
             {"lastTimestamp", time},
             {"count", 2}});
  }
};

}  // namespace

TEST_CASE("a job's objects are gathered by its UID", "[cli][gather]") {
  Cluster cluster;
  std::vector<std::string> left_out;
  const auto view = gather(cluster.api, "rl", "dqn", kNow, left_out);
  REQUIRE(view);
  CHECK(left_out.empty());
  CHECK(view->group.has_value());
  REQUIRE(view->pods.size() == 1);
  CHECK(view->pods[0].meta.name == "dqn-coordinator");
  REQUIRE(view->events.size() == 2);
  CHECK(view->events[0] == view::Event{at("2026-11-21T14:01:00Z"), true, "early", "", 2});
  CHECK(view->events[1].reason == "late");
}

TEST_CASE("a job that does not exist is not found", "[cli][gather]") {
  Cluster cluster;
  std::vector<std::string> left_out;
  const auto view = gather(cluster.api, "rl", "absent", kNow, left_out);
  REQUIRE_FALSE(view);
  CHECK(view.error().code == Code::kNotFound);
}

TEST_CASE("objects that the caller may not read are skipped and named", "[cli][gather]") {
  Cluster cluster;
  cluster.api.fail_next("GET", "/events", {Code::kForbidden, "forbidden"});
  std::vector<std::string> left_out;
  const auto view = gather(cluster.api, "rl", "dqn", kNow, left_out);
  REQUIRE(view);
  CHECK(left_out == std::vector<std::string>{"cannot show the events: forbidden"});
  CHECK(view->pods.size() == 1);
}

TEST_CASE("PodDisruptionBudgets of the namespace are gathered, if the caller may read them",
          "[cli][gather]") {
  constexpr kube::ResourceKind kBudgets{"policy", "v1", "poddisruptionbudgets"};
  Cluster cluster;
  cluster.api.add(kBudgets, "rl",
                  {{"metadata", {{"name", "keep"}}}, {"spec", {{"maxUnavailable", 1}}}});
  std::vector<std::string> left_out;
  const bool may_read = GENERATE(true, false);
  if (!may_read) {
    cluster.api.fail_next("GET", "/poddisruptionbudgets", {Code::kForbidden, "forbidden"});
  }
  const auto view = gather(cluster.api, "rl", "dqn", kNow, left_out);
  REQUIRE(view);
  CHECK(left_out.empty());
  REQUIRE(view->budgets.size() == (may_read ? 1 : 0));
  if (may_read) CHECK(view->budgets[0] == view::Budget{"keep", std::nullopt, nullptr, 1});
}

}  // namespace nervex::cli
