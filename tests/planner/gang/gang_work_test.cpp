// Where a gang stands in a cycle, and what keeps it from placements.
#include "planner/gang/gang_work.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>
#include <vector>

#include "planner/work/group_work.h"
#include "tests/support/gang_builders.h"

namespace nervex::planner {
namespace {

using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::planned;
using testing::view;

constexpr GangStage kStages[] = {GangStage::kWaiting, GangStage::kAssumed, GangStage::kCommitting,
                                 GangStage::kCommitted};

TEST_CASE("which stage of a gang may follow which in a cycle", "[planner][stage]") {
  const std::vector<std::string> table = {
      // Waiting, Assumed, Committing, Committed
      "yes yes no  no ",  // after Waiting
      "yes yes no  no ",  // after Assumed
      "no  no  yes no ",  // after Committing
      "no  no  no  yes",  // after Committed
  };
  for (std::size_t now = 0; now < table.size(); ++now) {
    for (std::size_t next = 0; next < table.size(); ++next) {
      INFO(now << " to " << next);
      CHECK(may_follow(kStages[now], kStages[next]) == (table[now].substr(4 * next, 3) == "yes"));
    }
  }
}

GroupSeen seen(gang::PodGroup group, bool is_committing = false) {
  GroupSeen out{std::make_shared<const gang::PodGroup>(std::move(group)), false, {}};
  if (is_committing) out.committing.emplace(gang::kBaseGang);
  return out;
}

TEST_CASE("a gang goes from the queue to its nodes", "[planner][stage]") {
  const std::vector<placement::NodeView> nodes{view(a_node("n1", 8))};
  Ledger ledger{placement::Cluster(nodes)};
  const auto work = [](const GroupSeen& from) { return collect_gang_work(from).at(0); };
  const auto learner = a_set("learner", 1, ask(8));

  SECTION("without a plan it waits, and a recheck changes nothing") {
    const GroupSeen group = seen(a_group("a", {learner}));
    GangWork gang = work(group);
    CHECK(gang.stage == GangStage::kWaiting);
    recheck(gang, ledger);
    CHECK(gang.stage == GangStage::kWaiting);
  }
  SECTION("a plan waits until the ledger has its capacity, and again when it yields") {
    const GroupSeen group = seen(planned(a_group("a", {learner}), {"n1"}));
    GangWork gang = work(group);
    CHECK(gang.stage == GangStage::kWaiting);
    recheck(gang, ledger);
    CHECK(gang.stage == GangStage::kAssumed);
    CHECK(gang.is_whole());
    CHECK_FALSE(gang.is_committed());
    CHECK(ledger.nodes().free(0, "nvidia.com/gpu") == 0);
    yield(gang, ledger);
    CHECK(gang.stage == GangStage::kWaiting);
    CHECK(ledger.nodes().free(0, "nvidia.com/gpu") == 8);
  }
  SECTION("two plans for one node: the second one stays in the queue") {
    const GroupSeen group = seen(planned(a_group("a", {learner}), {"n1"}));
    GangWork first = work(group);
    GangWork second = work(group);
    recheck(first, ledger);
    recheck(second, ledger);
    CHECK(first.stage == GangStage::kAssumed);
    CHECK(second.stage == GangStage::kWaiting);
  }
  SECTION("its first bind is being written: it keeps its nodes") {
    const GroupSeen group = seen(planned(a_group("a", {learner}), {"n1"}), true);
    GangWork gang = work(group);
    CHECK(gang.stage == GangStage::kCommitting);
    recheck(gang, ledger);
    CHECK(gang.stage == GangStage::kCommitting);
    CHECK(gang.is_committed());
    CHECK_FALSE(gang.is_stored_committed());
  }
  SECTION("a committed gang stays so, whatever its nodes have") {
    const GroupSeen group = seen(planned(a_group("a", {learner}), {"n1"}, true));
    GangWork gang = work(group);
    CHECK(gang.is_stored_committed());
    recheck(gang, ledger);
    CHECK(gang.is_stored_committed());
    CHECK(gang.is_whole());
  }
}

TEST_CASE("of two obstacles of a gang the later one counts", "[planner][obstacle]") {
  constexpr Obstacle kAll[] = {Obstacle::kNone, Obstacle::kPaused, Obstacle::kOverLimit,
                               Obstacle::kRejected, Obstacle::kPreempted};
  for (const Obstacle first : kAll) {
    for (const Obstacle second : kAll) {
      GangWork gang;
      gang.obstruct(first);
      gang.obstruct(second);
      CHECK(gang.obstacle == std::max(first, second));
    }
  }
}

TEST_CASE("what an obstacle keeps a gang from", "[planner][obstacle]") {
  struct Row {
    Obstacle obstacle;
    bool is_committed;  // the obstacle is one of committed gangs
    bool may_place;
    bool is_requeued;
  };
  const auto row = GENERATE(values<Row>({
      {Obstacle::kNone, false, true, false},
      {Obstacle::kNone, true, true, false},
      {Obstacle::kPaused, false, false, false},
      {Obstacle::kOverLimit, true, false, false},
      {Obstacle::kRejected, false, false, false},
      {Obstacle::kRejected, true, false, false},
      {Obstacle::kPreempted, true, false, true},
  }));
  INFO("obstacle " << static_cast<int>(row.obstacle) << ", committed " << row.is_committed);
  gang::PodGroup stored = a_group("a", {a_set("learner", 2, ask(8))});
  if (row.is_committed) {
    stored = planned(std::move(stored), {"n1", "n2"}, true);
    testing::nth_set(stored, 0).slots[1].incarnation = 1;  // one pod is lost
  }
  const GroupSeen from = seen(std::move(stored));
  GroupWork group{&from, collect_gang_work(from), nullptr, ReservedPlaces(from), {}};
  GangWork& gang = group.gangs.at(0);
  REQUIRE(gang.is_committed() == row.is_committed);
  gang.obstruct(row.obstacle);
  CHECK(may_place(group, gang) == row.may_place);
  CHECK(is_requeued(group, gang) == row.is_requeued);
}

}  // namespace
}  // namespace nervex::planner
