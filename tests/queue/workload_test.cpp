#include "queue/workload.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "tests/support/gang_builders.h"

namespace nervex::queue {
namespace {

using gang::GangKind;
using testing::a_group;
using testing::a_set;
using testing::ask;
using testing::in_gang;
using testing::in_request;
using testing::planned;

TEST_CASE("each gang of a PodGroup is a workload with what all its pods ask for",
          "[queue][workload]") {
  auto learner = a_set("learner", 2, ask(8));
  learner.reserved_pods = 1;
  auto group = planned(a_group("dqn-1",
                               {a_set("coordinator", 1, ask(0)), learner,
                                in_request(a_set("collector", 3, ask(0)), 7),
                                in_gang(a_set("learner", 1, ask(4)),
                                        {"base-learner-2", GangKind::kAddedReplicas, 0, 2, {}})},
                               60, 5),
                       {"a", "b", "c"}, true);
  gang::GangStatus request_status;
  request_status.name = "request-7";
  request_status.planned = true;
  group.spec.gangs[1].queued_since = SysTime(std::chrono::seconds(90));
  group.status.gangs.push_back(request_status);
  const Workload like{"uid-dqn-1/base",
                      GangKind::kBase,
                      "rl",
                      "dqn-1",
                      5,
                      SysTime(std::chrono::seconds(60)),
                      {{"cpu", 4000}, {"nvidia.com/gpu", 24}, {"pods", 4}},
                      Workload::State::kRunning};
  Workload request = like;
  request.id = "uid-dqn-1/request-7";
  request.kind = GangKind::kRequest;
  request.requests = {{"cpu", 3000}, {"pods", 3}};
  request.state = Workload::State::kPlanned;
  request.position = 1;
  request.queued_since = SysTime(std::chrono::seconds(90));
  Workload added = like;
  added.id = "uid-dqn-1/base-learner-2";
  added.kind = GangKind::kAddedReplicas;
  added.requests = {{"cpu", 1000}, {"nvidia.com/gpu", 4}, {"pods", 1}};
  added.state = Workload::State::kWaiting;
  added.position = 2;
  CHECK(list_workloads(group) == std::vector{like, request, added});
}

TEST_CASE("a workload ends at its job's limit and grace period, from the start of its base gang",
          "[queue][workload]") {
  using std::chrono::seconds;
  struct Row {
    std::string when;
    std::optional<std::int64_t> own, of_queue, grace;
    std::optional<seconds> want;
    std::int64_t active_before = 0;
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto row = GENERATE(values<Row>({
      {"the job has a limit", 600, std::nullopt, 30, seconds(630)},
      {"the queue has one", std::nullopt, 300, 0, seconds(300)},
      {"the queue's is shorter", 600, 300, 30, seconds(330)},
      {"the job's is shorter", 200, 300, 30, seconds(230)},
      {"earlier attempts used up some of the queue's", std::nullopt, 300, 30, seconds(230), 100},
      {"what the job's leaves is shorter", 150, 300, 30, seconds(180), 100},
      {"earlier attempts used up all of the queue's", 600, 300, 30, seconds(30), 400},
      {"no time is left", 0, std::nullopt, 30, seconds(30)},
      {"there is no limit", std::nullopt, std::nullopt, 30, std::nullopt},
      {"its pods may stay", 600, 300, std::nullopt, std::nullopt},
      {"a limit is beyond any use", kMost, std::nullopt, 30, std::nullopt},
      {"a grace period is beyond any use", 600, std::nullopt, kMost, std::nullopt},
  }));
  INFO("when " << row.when);
  const SysTime start(seconds(100));
  auto group = planned(a_group("dqn-1", {a_set("coordinator", 1, ask(0)),
                                         in_request(a_set("collector", 1, ask(0)), 7)}),
                       {"a"}, true);
  group.spec.preemptible = true;
  group.spec.active_deadline_seconds = row.own;
  group.spec.active_seconds = row.active_before;
  group.spec.grace_seconds = row.grace;
  group.status.queue.max_runtime_seconds = row.of_queue;
  group.status.gangs[0].started_at = start;
  const auto end = row.want ? std::optional(start + *row.want) : std::nullopt;
  for (const Workload& workload : list_workloads(group)) {
    INFO(workload.id);
    CHECK(workload.is_preemptible);
    CHECK(workload.longest_run == row.want);
    CHECK(latest_end(workload) == end);
    CHECK(latest_end(workload, start + seconds(50)) == end);
  }

  const Workload request = make_workload(group, 1);
  const bool is_limited = row.want || (row.own && *row.own != kMost);
  CHECK(request.job_end.has_value() == is_limited);
  if (request.job_end) {
    CHECK(gains_enough(request, *request.job_end - kShortestGain));
    CHECK_FALSE(gains_enough(request, *request.job_end - kShortestGain + seconds(1)));
  }
  CHECK(gains_enough(make_workload(group, 0), start + seconds(kMost / 4'000'000'000)));

  group.status.gangs[0].committed = false;  // it waits: it may start at any time
  const Workload waiting = make_workload(group, 0);
  CHECK_FALSE(latest_end(waiting));
  CHECK(latest_end(waiting, start + seconds(50)) ==
        (end ? std::optional(*end + seconds(50)) : end));
}

TEST_CASE("host ports are no resources of a workload, and amounts saturate", "[queue][workload]") {
  auto set = testing::on_port(a_set("learner", 4, {{"memory", std::int64_t{1} << 62}}), 80);
  const auto workloads = list_workloads(a_group("dqn-1", {set}));
  REQUIRE(workloads.size() == 1);
  CHECK(workloads[0].requests ==
        kube::Resources{{"memory", std::numeric_limits<std::int64_t>::max()}});
}

}  // namespace
}  // namespace nervex::queue
