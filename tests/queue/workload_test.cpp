#include "queue/workload.h"

#include <catch2/catch_test_macros.hpp>

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

TEST_CASE("host ports are no resources of a workload, and amounts saturate", "[queue][workload]") {
  auto set = testing::on_port(a_set("learner", 4, {{"memory", std::int64_t{1} << 62}}), 80);
  const auto workloads = list_workloads(a_group("dqn-1", {set}));
  REQUIRE(workloads.size() == 1);
  CHECK(workloads[0].requests ==
        kube::Resources{{"memory", std::numeric_limits<std::int64_t>::max()}});
}

}  // namespace
}  // namespace nervex::queue
