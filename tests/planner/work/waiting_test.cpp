#include "planner/work/waiting.h"

#include "planner/facts/next_look.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <random>

#include "placement/plan.h"
#include "tests/support/gang_builders.h"

namespace nervex::planner {
namespace {

using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::capacity;
using testing::tainted;

const GangKey kWaitingGang("uid", "base");
const SysTime kRefusedAt{std::chrono::seconds(1000)};

kube::NodePtr shared(const kube::Node& node) { return std::make_shared<const kube::Node>(node); }

RefusedGangs refused(const std::vector<gang::MemberSet>& sets) {
  return {
      {kWaitingGang, std::make_shared<const RefusedGang>(RefusedGang{sets, {}, {}, kRefusedAt})}};
}

// Spare capacity in GPUs and cores.
kube::Resources spare(std::int64_t gpus, std::int64_t cores) { return capacity(gpus, cores); }

TEST_CASE("a gang that waits may fit when nodes that it may use have gained enough",
          "[extender][waiting]") {
  struct Step {
    kube::Resources a, b;  // spare capacity of two nodes
  };
  struct Row {
    std::string when;
    std::vector<Step> steps;  // after two nodes with no GPU and 8 cores free
    bool want = false;
    bool is_b_tainted = false;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing changed", {}, false},
      {"cores alone were set free", {{spare(0, 16), spare(0, 16)}}, false},
      {"one of two pods fits", {{spare(4, 8), spare(0, 8)}}, false},
      {"both fit, on one node each", {{spare(4, 8), spare(4, 8)}}, true},
      {"both fit, one after the other",
       {{spare(4, 8), spare(0, 8)}, {spare(4, 8), spare(4, 8)}},
       true},
      {"both fit on one node", {{spare(8, 8), spare(0, 8)}}, true},
      {"what was set free is taken again",
       {{spare(4, 8), spare(0, 8)}, {spare(0, 8), spare(4, 8)}},
       false},
      {"the GPUs have no cores beside them", {{spare(8, 0), spare(0, 8)}}, false},
      {"a node that it may not use has them", {{spare(0, 8), spare(8, 8)}}, false, true},
  }));
  INFO("when " << row.when);
  const kube::NodePtr a = shared(a_node("a", 8));
  const kube::NodePtr b = shared(row.is_b_tainted ? tainted(a_node("b", 8)) : a_node("b", 8));
  WaitingGangs waiting;
  waiting.replace(refused({a_set("learner", 2, ask(4))}));
  CHECK(waiting.has_new_shapes());
  Step now{spare(0, 8), spare(0, 8)};
  waiting.sum_up({{a, now.a}, {b, now.b}});
  for (const Step& next : row.steps) {
    waiting.note({{a, a, now.a, next.a}, {b, b, now.b, next.b}});
    now = next;
  }
  CHECK(waiting.any_may_fit() == row.want);
  const std::vector<gang::MemberSet> sets{a_set("learner", 2, ask(4))};
  CHECK((waiting.still_refused(kWaitingGang, sets, {}, kRefusedAt) == nullptr) == row.want);
}

TEST_CASE("a gang that waits is planned again for another spec, other limits and other nodes",
          "[extender][waiting]") {
  const kube::NodePtr a = shared(a_node("a", 8));
  const std::vector<gang::MemberSet> sets{a_set("learner", 2, ask(4))};
  WaitingGangs waiting;
  waiting.replace(refused(sets));
  waiting.sum_up({{a, spare(0, 8)}});
  CHECK(waiting.still_refused(kWaitingGang, sets, {}, kRefusedAt) != nullptr);
  CHECK(waiting.still_refused(kWaitingGang, {a_set("learner", 1, ask(4))}, {}, kRefusedAt) ==
        nullptr);
  CHECK(waiting.still_refused(kWaitingGang, sets, {{"learner", "a", 0}}, kRefusedAt) == nullptr);
  CHECK(waiting.still_refused({"uid", "request-1"}, sets, {}, kRefusedAt) == nullptr);
  waiting.note({{a, shared(tainted(a_node("a", 8))), spare(0, 8), spare(0, 8)}});
  CHECK(waiting.any_may_fit());  // its reason counts nodes by what they are like
}

TEST_CASE("what a gang of this cycle has taken keeps the next one from being planned",
          "[extender][waiting]") {
  const kube::NodePtr a = shared(a_node("a", 8));
  const std::vector<gang::MemberSet> sets{a_set("learner", 2, ask(4))};
  WaitingGangs waiting;
  waiting.replace(refused(sets));
  waiting.sum_up({{a, spare(0, 8)}});
  waiting.note({{a, a, spare(0, 8), spare(12, 8)}});
  TakenPods taken;
  const auto is_planned = [&] {
    return waiting.still_refused(kWaitingGang, sets, {}, kRefusedAt, {}, taken) == nullptr;
  };
  CHECK(is_planned());
  waiting.take(*a, spare(12, 8), ask(4), taken);  // two more fit
  CHECK(is_planned());
  waiting.take(*a, spare(8, 8), ask(2), taken);
  CHECK_FALSE(is_planned());
}

TEST_CASE("the numbers in a reason are counted again once in a while, if anything changed",
          "[extender][waiting]") {
  const kube::NodePtr a = shared(a_node("a", 8));
  const std::vector<gang::MemberSet> sets{a_set("learner", 2, ask(4))};
  const SysTime later = kRefusedAt + refresh_period(1, "");
  WaitingGangs waiting;
  waiting.replace(refused(sets));
  waiting.sum_up({{a, spare(4, 8)}});
  CHECK_FALSE(waiting.first_refresh());
  CHECK(waiting.still_refused(kWaitingGang, sets, {}, later) != nullptr);
  waiting.note({{a, a, spare(4, 8), spare(0, 8)}});
  CHECK(waiting.first_refresh() == later);
  CHECK(waiting.still_refused(kWaitingGang, sets, {}, later - std::chrono::seconds(1)) != nullptr);
  CHECK(waiting.still_refused(kWaitingGang, sets, {}, later) == nullptr);
}

TEST_CASE("a gang may fit while it is not known what fits, or what it was refused beside",
          "[extender][waiting]") {
  const kube::NodePtr a = shared(a_node("a", 8));
  const std::vector<gang::MemberSet> sets{a_set("learner", 2, ask(4))};
  WaitingGangs waiting;
  waiting.replace(refused(sets));
  waiting.note({{a, a, spare(0, 8), spare(1, 8)}});  // not summed up yet
  CHECK(waiting.any_may_fit());

  WaitingGangs other;
  other.replace(refused(sets));
  other.sum_up({{a, spare(8, 8)}});  // another plan holds it, but was not stored
  CHECK_FALSE(other.any_may_fit());
  other.gain_all();
  CHECK(other.any_may_fit());
}

// One set, for which the planner misses nothing: that the rule is too careful costs time alone.
TEST_CASE("no gang that fits is passed over", "[extender][waiting][property]") {
  const auto seed = GENERATE(take(300, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const auto below = [&rng](unsigned n) { return static_cast<std::int64_t>(rng() % n); };
  std::vector<placement::NodeView> nodes;
  for (const char* name : {"a", "b", "c", "d"}) {
    kube::Node node = a_node(name, 8, 16);
    if (below(4) == 0) node = tainted(node);
    nodes.push_back({shared(node), spare(below(4), below(8))});
  }
  const std::vector<gang::MemberSet> sets{
      a_set("learner", 1 + static_cast<int>(below(6)), ask(below(3), 1 + below(3)))};
  const auto fits = [&] {
    return std::holds_alternative<std::vector<placement::Assignment>>(
        placement::plan_gang(sets, nodes));
  };
  if (fits()) return;
  WaitingGangs waiting;
  waiting.replace(refused(sets));
  waiting.sum_up(nodes);
  int skipped = 0;
  for (int step = 0; step < 30; ++step) {
    std::vector<NodeChange> changes;
    for (placement::NodeView& view : nodes) {
      if (below(3) != 0) continue;
      NodeChange change{view.node, view.node, view.free, spare(below(5), below(8))};
      if (below(8) == 0) {
        kube::Node other = *view.node;
        other.unschedulable = !other.unschedulable;
        change.after = shared(other);
      }
      view = {change.after, change.spare_after};
      changes.push_back(std::move(change));
    }
    waiting.note(changes);
    if (!waiting.still_refused(kWaitingGang, sets, {}, kRefusedAt)) {
      if (fits()) return;
      waiting.replace(refused(sets));  // planned again, in vain
      waiting.sum_up(nodes);
      continue;
    }
    ++skipped;
    REQUIRE_FALSE(fits());
  }
}

}  // namespace
}  // namespace nervex::planner
