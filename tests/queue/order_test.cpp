#include "queue/order.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/gang_builders.h"

namespace nervex::queue {
namespace {

SysTime at(int second) { return SysTime(std::chrono::seconds(second)); }

TEST_CASE("higher priority is served first, then the longer wait, then the name",
          "[queue][order]") {
  struct Row {
    std::string why;
    Rank first, second;
  };
  const auto row = GENERATE(values<Row>({
      {"higher priority", {7, at(9), "z", "z"}, {5, at(1), "a", "a"}},
      {"the lowest priority is last", {0, at(9), "z", "z"}, {-2'147'483'647 - 1, at(1), "a", "a"}},
      {"waits longer", {5, at(1), "z", "z"}, {5, at(2), "a", "a"}},
      {"namespace", {5, at(1), "a", "z"}, {5, at(1), "b", "a"}},
      {"name", {5, at(1), "a", "a"}, {5, at(1), "a", "b"}},
  }));
  INFO(row.why);
  CHECK(row.first < row.second);
  CHECK_FALSE(row.second < row.first);
}

TEST_CASE("all ranks are put in order, and equal ones stay as they were", "[queue][order]") {
  const std::vector<Rank> ranks{
      {5, at(2), "a", "a"}, {5, at(1), "a", "b"}, {9, at(3), "a", "c"}, {5, at(1), "a", "b"}};
  CHECK(order(ranks) == std::vector<std::size_t>{2, 1, 3, 0});
  CHECK(order({}).empty());
}

TEST_CASE("a PodGroup and its workloads have one rank", "[queue][order]") {
  const auto group = testing::a_group("dqn-1", {testing::coordinator()}, 60, 5);
  CHECK(rank(group) == Rank{5, at(60), "rl", "dqn-1"});
  const auto workloads = list_workloads(group);
  REQUIRE(workloads.size() == 1);
  CHECK(rank(workloads[0]) == rank(group));
}

TEST_CASE("a gang of another operator waits since it was created", "[queue][order]") {
  kube::ForeignPodGroup group;
  group.meta.uid = "u";
  group.meta.ns = "rl";
  group.meta.name = "mpi";
  group.meta.created = at(30);
  CHECK(rank(group, 3) == Rank{3, at(30), "rl", "mpi"});
  const Workload workload = make_workload(group, 3, {{"cpu", 1000}}, Workload::State::kWaiting);
  CHECK_FALSE(workload.kind);
  CHECK(rank(workload) == rank(group, 3));
}

}  // namespace
}  // namespace nervex::queue
