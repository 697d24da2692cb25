#include "controller/decide/attempt/created_pods.h"
#include "controller/decide/make_round.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/decide/reconcile.h"
#include "job/names.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using testing::a_job;
using testing::an_entry;
using testing::World;
using Strings = std::vector<std::string>;
using Gangs = std::map<std::string, std::int64_t>;

// Coordinator (placement 1) and three collectors (2, 3, 4), not running yet.
World a_world() {
  World world(a_job(3, 0));
  world.make_gang();
  return world;
}

Gangs created_gangs(const World& world) { return created_through(make_round(world.seen)).gangs; }

TEST_CASE("pods count as created up to the first placement without one", "[controller][created]") {
  struct Row {
    std::string when;
    std::vector<int> missing;  // collectors
    Gangs want;
  };
  const auto row = GENERATE(values<Row>({
      {"all are there", {}, {{"base", 4}}},
      {"the last one is missing", {2}, {{"base", 3}}},
      {"one between is missing", {1}, {{"base", 2}}},
      {"the coordinator alone is there", {0, 1, 2}, {{"base", 1}}},
  }));
  INFO("when " << row.when);
  World world = a_world();
  for (const int ordinal : row.missing) world.remove_pod(world.name(Role::kCollector, ordinal));
  CHECK(created_gangs(world) == row.want);
  CHECK(created_through(make_round(world.seen)).pod_group_uid ==
        world.seen.pod_groups[0]->meta.uid);
}

TEST_CASE("a slot counted as created stays so", "[controller][created]") {
  World world = a_world();
  world.run_all();
  world.settle();  // the counts are written, and this with them
  REQUIRE(world.seen.job.status.created_through.gangs == Gangs{{"base", 4}});
  const std::string pod = world.name(Role::kCollector, 1);
  world.remove_pod(pod);
  CHECK(created_gangs(world) == Gangs{{"base", 4}});
  CHECK(make_round(world.seen).vanished == Strings{pod});

  SECTION("also when the PodGroup's status was emptied, and numbers continue above it") {
    world.change_group([](gang::PodGroup& group) { group.status = {}; });
    CHECK(created_gangs(world) == Gangs{{"base", 4}});
    CHECK(world.settle() >= 0);
    CHECK(world.seen.pod_groups[0]->spec.highest_placement == 4);
    CHECK(world.seen.job.status.created_through.gangs == Gangs{{"base", 4}});
    CHECK(world.seen.job.status.phase == job::Phase::kRunning);
    for (const auto& one : world.deleted) CHECK_FALSE(one.starts_with("pod "));
  }
  SECTION("but not of another PodGroup, which counts from 1") {
    world.change_group([](gang::PodGroup& group) { group.meta.uid = "another"; });
    CHECK(created_gangs(world).empty());
    CHECK(make_round(world.seen).vanished.empty());
  }
  SECTION("but not of a slot that has another placement now") {
    world.replan("base");
    CHECK(make_round(world.seen).vanished.empty());
  }
  SECTION("nor of a finished or unwanted slot") {
    world.seen.job.status.ended = {{Role::kCollector, {1, 0}, false}};
    CHECK(make_round(world.seen).vanished.empty());
    world.seen.job.status.ended.clear();
    world.seen.job.spec.collector->replicas = 1;
    CHECK(make_round(world.seen).vanished.empty());
  }
}

TEST_CASE("created pods alone do not cause a status write", "[controller][created]") {
  World world = a_world();
  CHECK(created_gangs(world) == Gangs{{"base", 4}});
  CHECK(world.seen.job.status.created_through.gangs.empty());
  CHECK(reconcile(world.seen).actions.empty());
  world.run("dqn-coordinator");  // but a count is
  world.settle();
  CHECK(world.seen.job.status.created_through.gangs == Gangs{{"base", 4}});
}

TEST_CASE("a pod that was never seen running is created again under its name",
          "[controller][created]") {
  World world = a_world();
  const std::string pod = world.name(Role::kCollector, 2);
  world.created.clear();
  world.remove_pod(pod);
  world.settle();
  CHECK(world.created == Strings{"pod " + pod});
  CHECK(world.seen.job.status.replaced.empty());
}

TEST_CASE("a requeued gang is created again under the same names", "[controller][created]") {
  World world(a_job(0, 0));
  world.seen.job.spec.requests.entries = {an_entry(1, Role::kCollector, 2)};
  world.make_gang();
  world.run_all();
  world.settle();
  REQUIRE(world.seen.job.status.created_through.gangs == Gangs{{"base", 1}, {"request-1", 3}});
  world.seen.job.status.requeued_gangs = {{"request-1", 1, world.seen.now + std::chrono::hours(1)}};
  const auto actions = reconcile(world.seen).actions;
  REQUIRE(std::holds_alternative<UpdateStatus>(actions.at(0)));  // before its pods are deleted
  CHECK(std::get<UpdateStatus>(actions[0]).status.created_through.gangs == Gangs{{"base", 1}});
}

TEST_CASE("which changes of it cause a status write", "[controller][created]") {
  using Created = job::Status::CreatedThrough;
  const Created before = {"uid", {{"base", 4}, {"request-1", 6}}};
  CHECK_FALSE(is_worth_writing({}, before));
  CHECK_FALSE(is_worth_writing(before, before));
  CHECK_FALSE(is_worth_writing(before, {"uid", {{"base", 9}, {"request-1", 6}, {"request-2", 7}}}));
  CHECK(is_worth_writing(before, {"uid", {{"base", 6}}}));  // request-1 has joined it, perhaps
  CHECK(is_worth_writing(before, {"uid", {{"base", 3}, {"request-1", 6}}}));
  CHECK(is_worth_writing(before, {"other", {{"base", 4}, {"request-1", 6}}}));
}

}  // namespace
}  // namespace nervex::controller
