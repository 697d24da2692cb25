#include "planner/recovery/healing.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "planner/scheduling_cycle.h"
#include "tests/support/gang_builders.h"

namespace nervex::planner::healing_test {
namespace {

using std::chrono::seconds;
using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::capacity;
using testing::not_ready;
using testing::nth_set;
using testing::planned;
using testing::tainted;
using testing::view;
using Why = OpenSlot::Why;

const SysTime kNow{seconds(1'000'000)};

placement::NodeView cordoned(const std::string& name) {
  kube::Node node = a_node(name, 8);
  node.unschedulable = true;
  return view(std::move(node));
}
placement::NodeView full(const std::string& name) {
  return view(a_node(name, 8), capacity(8, 0, 0));
}

// Learners with 8 GPUs each, committed, on these nodes.
gang::PodGroup learners(const std::vector<std::string>& nodes) {
  return planned(a_group("a", {a_set("learner", static_cast<int>(nodes.size()), ask(8))}), nodes,
                 true);
}

OpenSlot open(const gang::PodGroup& group, std::int64_t number, Why why,
              const std::string& message = "", SysTime since = {}) {
  for (const gang::GangStatus& gang : group.status.gangs) {
    for (const gang::Placement& placement : gang.placements) {
      if (placement.number == number) return {placement, why, message, since};
    }
  }
  throw std::logic_error("no such placement");
}

GroupSeen seen(const gang::PodGroup& group, std::vector<OpenSlot> slots = {},
               std::vector<NodeRejections> rejections = {}) {
  GroupSeen out;
  out.group = std::make_shared<const gang::PodGroup>(group);
  out.open = std::move(slots);
  out.rejections = std::move(rejections);
  return out;
}

// Cycle after cycle, with what is remembered from one to the next.
struct Cycles {
  CycleState state;
  HealingOptions healing;
  std::optional<std::chrono::milliseconds> look_again;
  gang::PodGroupStatus written;  // the last one

  // What was written of the base gang; nullopt: nothing.
  std::optional<gang::GangStatus> run(const std::vector<placement::NodeView>& nodes,
                                      GroupSeen group, SysTime now = kNow) {
    CycleState remembered;
    remembered.reports = state.reports;
    remembered.healing = state.healing;
    CycleResult result =
        run_cycle({nodes, {std::move(group)}}, std::move(remembered), now, {healing});
    state = std::move(result.state);
    look_again = result.look_again;
    if (result.writes.empty()) return std::nullopt;
    written = result.writes.front().status;
    return result.writes.front().status.gangs.front();
  }
};

// "n1#1 n2#3 waits"; "-" if nothing was written.
std::string text(const std::optional<gang::GangStatus>& gang) {
  if (!gang) return "-";
  std::string out;
  for (const gang::Placement& placement : gang->placements) {
    out += (out.empty() ? "" : " ") + placement.node + "#" + std::to_string(placement.number);
  }
  return gang->planned ? out : out + (out.empty() ? "waits" : " waits");
}

TEST_CASE("before the bind a slot of a committed gang leaves a node that does not take its pod",
          "[extender][healing]") {
  struct Row {
    std::string when;
    std::vector<placement::NodeView> nodes;  // it is on n1 and n2
    std::vector<Why> open;                   // of n1
    std::string want;
  };
  const auto n1 = view(a_node("n1", 8));
  const auto n2 = full("n2");
  const auto n3 = view(a_node("n3", 8));
  const auto row = GENERATE_COPY(values<Row>({
      {"the node was deleted", {n2, n3}, {Why::kUnbound}, "n3#3 n2#2"},
      {"it is not ready", {view(not_ready(a_node("n1", 8))), n2, n3}, {Why::kUnbound}, "n3#3 n2#2"},
      {"it is cordoned", {cordoned("n1"), n2, n3}, {Why::kUnbound}, "n3#3 n2#2"},
      {"it is tainted", {view(tainted(a_node("n1", 8))), n2, n3}, {Why::kUnbound}, "n3#3 n2#2"},
      {"kube-scheduler has refused it, too",
       {cordoned("n1"), n2, n3},
       {Why::kRefused},
       "n3#3 n2#2"},
      {"there is no other node", {cordoned("n1"), n2}, {Why::kUnbound}, "n2#2 waits"},
      {"the node is as it was", {full("n1"), n2, n3}, {Why::kUnbound}, "-"},
      {"the pod is bound", {cordoned("n1"), n2, n3}, {}, "-"},
      {"the pod is bound, and the node was deleted", {n2, n3}, {}, "-"},
      {"the pod was bound and stopped", {cordoned("n1"), n2, n3}, {Why::kTakenAway}, "-"},
  }));
  INFO("when " << row.when);
  const gang::PodGroup group = learners({"n1", "n2"});
  std::vector<OpenSlot> slots;
  for (const Why why : row.open) slots.push_back(open(group, 1, why, "", kNow));
  Cycles cycles;
  const auto written = cycles.run(row.nodes, seen(group, slots));
  CHECK(text(written) == row.want);
  if (!written) return;
  CHECK(written->committed);
  gang::PodGroup next = group;  // the write is stored: there is nothing to add
  next.status.gangs.front() = *written;
  next.status.next_placement = 4;
  std::vector<OpenSlot> left;
  for (const gang::Placement& placement : written->placements) {
    if (placement.number == 3) left.push_back({placement});
  }
  std::vector<placement::NodeView> nodes = row.nodes;
  if (!left.empty()) nodes.back() = full("n3");
  CHECK(text(cycles.run(nodes, seen(next, left))) == "-");
}

TEST_CASE("a toleration keeps an unbound slot on its tainted node", "[extender][healing]") {
  gang::PodGroup group = learners({"n1"});
  nth_set(group, 0).shape.constraints.edit([](kube::NodeConstraints& constraints) {
    constraints.tolerations = Json::array({{{"operator", "Exists"}}});
  });
  kube::Node node = tainted(a_node("n1", 8));
  Cycles cycles;
  CHECK(text(cycles.run({view(node, capacity(8, 0, 0)), view(a_node("n2", 8))},
                        seen(group, {open(group, 1, Why::kUnbound)}))) == "-");
}

TEST_CASE("a slot that kube-scheduler refuses for too long gets another node",
          "[extender][healing]") {
  const gang::PodGroup group = learners({"n1"});
  const std::vector<OpenSlot> refused{open(group, 1, Why::kRefused, "no port is free", kNow)};
  const auto n1 = full("n1");
  const auto n2 = view(a_node("n2", 8));
  Cycles cycles;
  CHECK(text(cycles.run({n1, n2}, seen(group, refused), kNow + seconds(59))) == "-");
  REQUIRE(cycles.look_again);
  CHECK(*cycles.look_again == seconds(1));

  SECTION("if there is one") {
    CHECK(text(cycles.run({n1, n2}, seen(group, refused), kNow + seconds(60))) == "n2#2");
  }
  SECTION("else it waits where it is") {
    const auto written =
        cycles.run({view(a_node("n1", 8))}, seen(group, refused), kNow + seconds(200));
    REQUIRE(written);
    CHECK(text(written) == "n1#1");
    CHECK(written->reason == "Healing");
    CHECK(written->message.starts_with(
        "learner/0 is refused on node n1 by kube-scheduler: no port is free; "));
  }
}

TEST_CASE("a gang that is only starting does not say that it heals", "[extender][healing]") {
  const gang::PodGroup group = learners({"n1", "n2"});
  const std::vector<OpenSlot> slots{open(group, 1, Why::kUnbound), open(group, 2, Why::kUnbound)};
  const std::vector<placement::NodeView> nodes{full("n1"), full("n2")};
  Cycles cycles;
  CHECK_FALSE(cycles.run(nodes, seen(group, slots)));
  CHECK(cycles.look_again == seconds(60));
  CHECK_FALSE(cycles.run(nodes, seen(group, {slots[1]}), kNow + seconds(59)));
  const auto late = cycles.run(nodes, seen(group, {slots[1]}), kNow + seconds(60));
  REQUIRE(late);
  CHECK(text(late) == "n1#1 n2#2");
  CHECK(late->healing_since == kNow);
  CHECK(late->reason == "Healing");
  CHECK(cycles.look_again == seconds(240));
}

TEST_CASE("why a pod was lost is said as soon as it is known", "[extender][healing]") {
  // The controller wants the next incarnation, before the extender has seen how the last one ended.
  gang::PodGroup group = learners({"n1", "n2"});
  nth_set(group, 0).slots[0].incarnation = 1;
  ++group.meta.generation;
  const std::vector<placement::NodeView> nodes{view(not_ready(a_node("n1", 8))), full("n2")};
  GroupSeen before = seen(group);
  Cycles cycles;
  const auto vague = cycles.run(nodes, before);
  REQUIRE(vague);
  CHECK(vague->message.starts_with("learner/0 lost its pod; a new place is searched until "));
  group.status.gangs.front() = *vague;
  group.status.observed_generation = group.meta.generation;
  GroupSeen after = seen(group);
  after.losses[{"learner", 0}] = "lost its node n1 (not Ready)";
  const auto told = cycles.run(nodes, after, kNow + seconds(1));
  REQUIRE(told);
  CHECK(told->message.starts_with("learner/0 lost its node n1 (not Ready); a new place is "));
  CHECK(told->healing_since == kNow);
}

TEST_CASE("what kube-scheduler says of an unbound pod takes the place of its silence",
          "[extender][healing]") {
  gang::PodGroup group = learners({"n1"});
  const std::vector<placement::NodeView> nodes{full("n1")};
  const auto refused = [&](const std::string& message) {
    return std::vector<OpenSlot>{open(group, 1, Why::kRefused, message, kNow)};
  };
  Cycles cycles;
  CHECK_FALSE(cycles.run(nodes, seen(group, {open(group, 1, Why::kUnbound)})));
  auto said = cycles.run(nodes, seen(group, {open(group, 1, Why::kUnbound)}), kNow + seconds(60));
  REQUIRE(said);
  CHECK(said->message.starts_with("learner/0 is not bound to node n1; "));
  group.status.gangs.front() = *said;
  said = cycles.run(nodes, seen(group, refused("1 Insufficient cpu")), kNow + seconds(61));
  REQUIRE(said);
  CHECK(said->message.starts_with(
      "learner/0 is refused on node n1 by kube-scheduler: 1 Insufficient cpu; "));
  // The first that says why stays.
  group.status.gangs.front() = *said;
  CHECK_FALSE(cycles.run(nodes, seen(group, refused("another word")), kNow + seconds(62)));
  CHECK_FALSE(cycles.run(nodes, seen(group, {open(group, 1, Why::kUnbound)}), kNow + seconds(63)));
}

TEST_CASE("a gang that has lost a node says so, and until when it is healed",
          "[extender][healing]") {
  const gang::PodGroup group = learners({"n1", "n2"});
  const std::string why = "not Ready since 2026-11-22T10:00:07Z";
  const auto gone = view(not_ready(a_node("n1", 8)));
  Cycles cycles;
  const auto lost =
      cycles.run({gone, full("n2")}, seen(group, {open(group, 1, Why::kNodeLost, why)}));
  REQUIRE(lost);
  CHECK(lost->healing_since == kNow);
  CHECK(lost->message == "learner/0 lost its node n1 (" + why +
                             "); lost pods are replaced, and if not all pods of the gang run by "
                             "1970-01-12T13:51:40Z it is requeued");

  // The controller wants its next incarnation, and there is no node for it.
  gang::PodGroup raised = group;
  raised.status.gangs.front() = *lost;
  nth_set(raised, 0).slots[0].incarnation = 1;
  ++raised.meta.generation;
  const auto waits = cycles.run({gone, full("n2")}, seen(raised), kNow + seconds(2));
  REQUIRE(waits);
  CHECK(text(waits) == "n2#2 waits");
  CHECK(waits->reason == "Unschedulable");
  CHECK(waits->healing_since == kNow);
  CHECK(waits->message ==
        "learner/0 lost its node n1 (" + why +
            "); a new place is searched until 1970-01-12T13:51:40Z, then the gang is requeued; "
            "no place yet: learner: does not fit: it needs nvidia.com/gpu 8; no node has it free, "
            "1 is full, 1 is not ready");
  raised.status.gangs.front() = *waits;
  raised.status.observed_generation = raised.meta.generation;

  SECTION("it is whole again with the pod that runs elsewhere") {
    const auto placed =
        cycles.run({gone, full("n2"), view(a_node("n3", 8))}, seen(raised), kNow + seconds(10));
    REQUIRE(placed);
    CHECK(text(placed) == "n3#3 n2#2");
    CHECK(placed->healing_since == kNow);
    raised.status.gangs.front() = *placed;
    const auto whole = cycles.run({gone, full("n2"), full("n3")}, seen(raised), kNow + seconds(12));
    REQUIRE(whole);
    CHECK_FALSE(whole->healing_since);
    CHECK(whole->message == "2 pods are placed");
  }
  SECTION("it is requeued after the deadline, which only the status remembers") {
    cycles = Cycles();
    CHECK_FALSE(cycles.run({gone, full("n2")}, seen(raised), kNow + seconds(299)));
    CHECK(cycles.look_again == seconds(1));
    const auto over = cycles.run({gone, full("n2")}, seen(raised), kNow + seconds(300));
    REQUIRE(over);
    CHECK(over->reason == "HealingDeadlineExceeded");
    CHECK(over->message.starts_with("learner/0 lost its node n1"));
    raised.status.gangs.front() = *over;
    CHECK_FALSE(cycles.run({gone, full("n2")}, seen(raised), kNow + seconds(400)));
  }
  SECTION("it is never requeued without a deadline") {
    cycles.healing.deadline = seconds(0);
    const auto later = cycles.run({gone, full("n2")}, seen(raised), kNow + seconds(9000));
    REQUIRE(later);
    CHECK(later->reason == "Unschedulable");
    CHECK(later->message.find("; a new place is searched; no place yet: learner: does not fit") !=
          std::string::npos);
  }
}

TEST_CASE("a slot whose last pod takes its time to end is no reason to queue the gang again",
          "[extender][healing]") {
  // One of two is being deleted, with 600 s to write a checkpoint; its successor has a node at
  // once.
  const SysTime until = kNow + seconds(600);
  gang::PodGroup group = learners({"n1", "n2"});
  nth_set(group, 0).slots[0].incarnation = 1;
  ++group.meta.generation;
  const std::vector<placement::NodeView> nodes{full("n1"), full("n2"), view(a_node("n3", 8))};
  const auto ending = [&](GroupSeen seen, int incarnation = 0) {
    seen.ending[{"learner", 0}] = {"a-learner-0", incarnation, until};
    return seen;
  };
  Cycles cycles;
  auto written = cycles.run(nodes, ending(seen(group)));
  REQUIRE(written);
  CHECK(text(written) == "n3#3 n2#2");
  CHECK(written->reason == "Healing");
  CHECK(written->message ==
        "learner/0 waits until pod a-learner-0 has ended (terminating until "
        "1970-01-12T13:56:40Z); lost pods are replaced, and if not all pods of the gang run by "
        "1970-01-12T14:01:40Z it is requeued");
  group.status = cycles.written;
  const OpenSlot unbound = open(group, 3, Why::kUnbound);
  const std::vector<placement::NodeView> taken{full("n1"), full("n2"), full("n3")};
  CHECK_FALSE(cycles.run(taken, ending(seen(group, {unbound})), kNow + seconds(301)));

  SECTION("the deadline begins when it has to have ended") {
    const bool is_new_leader = GENERATE(false, true);
    if (is_new_leader) cycles = Cycles();
    const bool has_ended = GENERATE(true, false);
    const auto now_seen = [&] {
      return has_ended ? seen(group, {unbound}) : ending(seen(group, {unbound}));
    };
    const auto after = cycles.run(taken, now_seen(), until + seconds(299));
    if (after) group.status = cycles.written;
    CHECK(group.status.gangs[0].reason == "Healing");
    CHECK(group.status.gangs[0].healing_since == until);
    const auto over = cycles.run(taken, now_seen(), until + seconds(300));
    REQUIRE(over);
    CHECK(over->reason == "HealingDeadlineExceeded");
  }
  SECTION("or when it has ended") {
    const SysTime now = kNow + seconds(400);
    const auto after = cycles.run(taken, seen(group, {unbound}), now);
    REQUIRE(after);
    CHECK(after->healing_since == now);
    CHECK(after->message.starts_with("learner/0 is not bound to node n3; "));
  }
  SECTION("but another loss counts at once") {
    const OpenSlot lost = open(group, 2, Why::kNodeLost, "not Ready");
    const SysTime now = kNow + seconds(100);
    const auto after = cycles.run(taken, ending(seen(group, {lost, unbound})), now);
    REQUIRE(after);
    CHECK(after->healing_since == now);
    group.status = cycles.written;
    const auto over = cycles.run(taken, ending(seen(group, {lost, unbound})), now + seconds(300));
    REQUIRE(over);
    CHECK(over->reason == "HealingDeadlineExceeded");
    CHECK(over->message.starts_with("learner/1 lost its node n2 (not Ready), and 1 more pods"));
  }
  SECTION("a pod of its own incarnation is not waited for") {
    const auto over = cycles.run(taken, ending(seen(group, {unbound}), 1), kNow + seconds(302));
    REQUIRE(over);
    CHECK(over->healing_since == kNow + seconds(302));
  }
}

TEST_CASE("a collector whose last pod does not end is no reason to end the job",
          "[extender][healing]") {
  // Something keeps the pod: a finalizer of others, or a kubelet that cannot stop it.
  const SysTime until = kNow + seconds(100);
  gang::PodGroup group =
      planned(a_group("a", {a_set("learner", 1, ask(8)), a_set("collector", 2, ask(8))}),
              {"n1", "n2", "n3"}, true);
  nth_set(group, 1).slots[0].incarnation = 1;
  ++group.meta.generation;
  std::vector<placement::NodeView> nodes{full("n1"), full("n2"), full("n3"), view(a_node("n4", 8))};
  const auto ending = [&](GroupSeen seen) {
    seen.ending[{"collector", 0}] = {"a-collector-0", 0, until};
    return seen;
  };
  Cycles cycles;
  auto written = cycles.run(nodes, ending(seen(group)));
  REQUIRE(written);
  CHECK(written->message.find("collector/0 waits until pod a-collector-0 has ended") == 0);
  CHECK(written->message.find("the gang runs on without it") != std::string::npos);
  CHECK(written->message.find("metadata.finalizers") != std::string::npos);
  group.status = cycles.written;
  const OpenSlot unbound = open(group, 4, Why::kUnbound);
  nodes.back() = full("n4");
  for (const int later : {300, 331, 1'000, 100'000}) {
    if (cycles.run(nodes, ending(seen(group, {unbound})), kNow + seconds(later))) {
      group.status = cycles.written;
    }
    CHECK(group.status.gangs[0].reason == "Healing");
  }
  // It has ended: now its successor has the whole deadline.
  const SysTime ended = kNow + seconds(100'001);
  if (cycles.run(nodes, seen(group, {unbound}), ended)) group.status = cycles.written;
  CHECK(group.status.gangs[0].healing_since == ended);
  CHECK_FALSE(cycles.run(nodes, seen(group, {unbound}), ended + seconds(299)));
  const auto over = cycles.run(nodes, seen(group, {unbound}), ended + seconds(300));
  REQUIRE(over);
  CHECK(over->reason == "HealingDeadlineExceeded");
}

TEST_CASE("the job's own aggregator is healed alone", "[extender][healing]") {
  gang::PodGroup group =
      planned(a_group("a", {a_set("learner", 1, ask(8)), a_set("aggregator", 1, ask(0))}),
              {"n1", "n1"}, true);
  nth_set(group, 1).heals_alone = true;
  for (auto& set : gang::all_sets(group.spec.gangs))
    set.slots[0].incarnation = 1;  // both were lost
  ++group.meta.generation;
  Cycles cycles;
  const auto written = cycles.run({full("n2")}, seen(group));
  REQUIRE(written);
  CHECK(text(written) == "n2#3 waits");
  CHECK(written->placements.front().role == "aggregator");
  CHECK(written->healing_since);

  SECTION("and its loss does not make the gang one that heals") {
    nth_set(group, 0).slots[0].incarnation = 0;
    const auto alone = cycles.run({cordoned("n2")}, seen(group), kNow + seconds(900));
    REQUIRE(alone);
    CHECK(alone->reason == "Unschedulable");
    CHECK_FALSE(alone->healing_since);
  }
}

TEST_CASE("a node whose kubelet rejects a role's pods is kept away from, for a while",
          "[extender][healing]") {
  gang::PodGroup group = learners({"n1"});
  nth_set(group, 0).slots[0].incarnation = 1;  // its first pod was rejected
  ++group.meta.generation;
  const std::vector<placement::NodeView> nodes{view(a_node("n1", 8)), view(a_node("n2", 8))};
  const std::vector<NodeRejections> rejections{{"learner", "n1", 1}};
  Cycles cycles;
  SECTION("another one is chosen") {
    CHECK(text(cycles.run(nodes, seen(group, {}, rejections))) == "n2#2");
  }
  SECTION("if there is no other, the slot waits, and comes back later") {
    const auto waits = cycles.run({nodes[0]}, seen(group, {}, rejections));
    CHECK(text(waits) == "waits");
    CHECK(cycles.look_again == seconds(60));
    group.status = cycles.written;
    CHECK(text(cycles.run({nodes[0]}, seen(group, {}, rejections), kNow + seconds(59))) == "-");
    CHECK(text(cycles.run({nodes[0]}, seen(group, {}, rejections), kNow + seconds(60))) == "n1#2");
  }
  SECTION("also by the next leader, which counts the same rejection once") {
    (void)cycles.run({nodes[0]}, seen(group, {}, rejections));
    group.status = cycles.written;
    cycles = Cycles();
    CHECK(text(cycles.run({nodes[0]}, seen(group, {}, rejections), kNow + seconds(59))) == "-");
  }
  SECTION("also if an earlier attempt was rejected there, which counts on its own") {
    group.spec.avoid = {{"learner", "n1", 0, 1, kNow - seconds(10)}};
    CHECK(text(cycles.run(nodes, seen(group, {}, rejections))) == "n2#2");
    REQUIRE(cycles.written.avoid.size() == 1);
    CHECK(cycles.written.avoid[0].times == 2);
  }
  SECTION("the second time it is kept away from for longer") {
    (void)cycles.run({nodes[0]}, seen(group, {}, rejections));
    group.status = cycles.written;
    (void)cycles.run({nodes[0]}, seen(group, {}, {{"learner", "n1", 2}}), kNow + seconds(70));
    REQUIRE(cycles.written.avoid.size() == 1);
    CHECK(cycles.written.avoid[0].until == kNow + seconds(190));
    CHECK(cycles.written.avoid[0].at_most == 0);
  }
  SECTION("other roles may go there") {
    CHECK(text(cycles.run({nodes[0]}, seen(group, {}, {{"collector", "n1", 1}}))) == "n1#2");
  }
}

}  // namespace
}  // namespace nervex::planner::healing_test
