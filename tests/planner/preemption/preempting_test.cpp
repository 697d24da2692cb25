#include "planner/preemption/preempting.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/planner/preemption/preemptions.h"

namespace nervex::planner {
namespace {

using queue::PreemptionMode;
using queue::Queue;
using testing::a_full_cluster;
using testing::a_node;
using testing::Preemptions;
using testing::speech;
using testing::view;
using testing::vision;
using testing::with_a_request;
using testing::with_limit;
using testing::with_quota;

using Names = std::vector<std::string>;

TEST_CASE("a gang that gets its nodes otherwise ends nothing", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.cycle();
  REQUIRE(world.victims("new") == Names{"old/base"});
  SECTION("its victim ended by itself, before it was marked") { world.remove("old"); }
  SECTION("the nodes were extended") { world.nodes[0] = view(a_node("n1", 16)); }
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
}

TEST_CASE("a gang for which nothing ended starts only if its queue lets it",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.cycle();
  REQUIRE(world.victims("new") == Names{"old/base"});
  world.nodes[0] = view(a_node("n1", 16));
  world.queue("vision").stop = Queue::Stop::kHold;
  world.cycle();
  CHECK_FALSE(world.base("new").planned);
  CHECK(world.base("new").reason == "QueueStopped");
  CHECK(world.base("old").reason == gang::kReasonPlanned);
}

// Its queue is at its limit, and n1 is free.
Preemptions at_the_limit() {
  Preemptions world;
  world.queues = {with_limit(speech(), 8)};
  world.add_running("low", "speech", {"n2"}, 4, 1);
  world.add_running("middle", "speech", {"n2"}, 4, 2);
  world.add("high", "speech", 1, 8, 3);
  return world;
}

TEST_CASE("a plan that awaits its victims counts once with them", "[extender][preempt]") {
  Preemptions world = at_the_limit();
  REQUIRE(world.run_until("high", gang::kReasonPreempting));
  world.cycle();
  CHECK(world.used("speech") == 8);
  world.requeue("low", true);
  world.requeue("middle", true);
  world.cycle();
  REQUIRE(world.base("high").reason == gang::kReasonPreempting);
  CHECK(world.used("speech") == 8);
  world.terminating.clear();
  CHECK(world.run_until("high", gang::kReasonPlanned));
  world.cycle();
  CHECK(world.used("speech") == 8);
}

TEST_CASE("a plan that awaits victims of other queues keeps its part of the limit",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.queue("vision").limit = with_limit(vision(), 8).limit;
  REQUIRE(world.run_until("new", gang::kReasonPreempting));
  world.nodes.push_back(view(a_node("n3", 8)));
  world.add("more", "vision", 1, 8);
  world.cycle();
  CHECK(world.base("more").reason == "LimitExceeded");
}

TEST_CASE("a gang at the limit of its queue preempts nothing that is kept for one ahead",
          "[extender][preempt]") {
  Preemptions world = at_the_limit();
  gang::PodGroup& head = world.add("head", "speech", 1, 8, 9);
  head.spec.never_preempts = true;
  head.spec.queued_since = world.now - std::chrono::seconds(1'000);
  for (const char* name : {"low", "middle"}) world.base(name).started_at = world.now;
  world.reservation.after = std::chrono::seconds(300);
  world.cycle();
  world.cycle();
  CHECK(world.base("head").reason == "LimitExceeded");
  CHECK(world.base("high").reason == "LimitKept");
  CHECK(world.base("high").victims.empty());
}

TEST_CASE("a gang at the limit of its queue preempts although nodes are free",
          "[extender][preempt]") {
  Preemptions world = at_the_limit();
  REQUIRE(world.run_until("low", gang::kReasonPreempted));
  CHECK(world.base("middle").reason == gang::kReasonPreempted);
  world.requeue("low");
  world.cycle();
  CHECK(world.base("high").reason == gang::kReasonPreempting);
  world.requeue("middle", true);
  world.cycle();
  CHECK(world.base("high").reason == gang::kReasonPreempting);  // the pods count until they end
  world.terminating.clear();
  world.cycle();
  CHECK(world.base("high").planned);
  CHECK(world.queue("speech").preemptions.size() == 1);
}

TEST_CASE("a gang whose queue is stopped while its victims end does not exceed the limit",
          "[extender][preempt]") {
  Preemptions world = at_the_limit();
  REQUIRE(world.run_until("low", gang::kReasonPreempted));
  REQUIRE(world.run_until("middle", gang::kReasonPreempted));
  SECTION("held") { world.queue("speech").stop = queue::Queue::Stop::kHold; }
  SECTION("with a parent that does not exist") { world.queue("speech").parent = "gone"; }
  world.cycle();
  CHECK_FALSE(world.base("high").planned);
}

TEST_CASE("a gang whose queue gets a higher limit ends nothing", "[extender][preempt]") {
  Preemptions world = at_the_limit();
  world.cycle();
  REQUIRE(world.victims("high") == Names{"low/base", "middle/base"});
  world.queue("speech").limit = with_limit(speech(), 16).limit;
  world.cycle();
  CHECK(world.base("high").planned);
  CHECK(world.base("low").reason == gang::kReasonPlanned);
  CHECK(world.base("middle").reason == gang::kReasonPlanned);
}

TEST_CASE("a gang that its victims do not bring within a lowered limit waits again",
          "[extender][preempt]") {
  Preemptions world = at_the_limit();
  REQUIRE(world.run_until("low", gang::kReasonPreempted));
  world.queue("speech").limit = with_limit(speech(), 4).limit;
  world.remove("low");
  world.remove("middle");
  world.cycle();
  CHECK(world.base("high").victims.empty());
  CHECK_FALSE(world.base("high").planned);
}

TEST_CASE("a preemptor that leaves or changes before the mark spares its victims",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.cycle();
  REQUIRE(world.victims("new") == Names{"old/base"});
  SECTION("it was deleted") { world.remove("new"); }
  SECTION("it asks for less") {
    world.get("new").spec.gangs[0].members[0].slots = {{1, 0}};
    ++world.get("new").meta.generation;
    world.mode = PreemptionMode::kOff;
  }
  world.cycle();
  CHECK(world.base("old").reason == gang::kReasonPlanned);
}

TEST_CASE("a mark stays when the preemptor leaves: the victim's controller may have seen it",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  world.remove("new");
  world.cycle();
  CHECK(world.base("old").reason == gang::kReasonPreempted);
  CHECK(world.cycle() == 0);
}

TEST_CASE("a node that is not ready for a moment does not make victims end in vain",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  world.requeue("old", true);
  const auto node = world.nodes[0];
  world.nodes[0] = view(testing::not_ready(a_node("n1", 8)));
  for (int i = 0; i < 20; ++i) world.cycle();
  CHECK(world.base("new").reason == gang::kReasonPreempting);
  SECTION("it comes back") {
    world.nodes[0] = node;
    world.cycle();
    world.terminating.clear();
    world.cycle();
    CHECK(world.base("new").planned);
    CHECK(world.base("older").reason == gang::kReasonPlanned);
  }
  SECTION("it stays away: the gang waits again when its victims have ended") {
    world.terminating.clear();
    world.cycle();
    CHECK(world.base("new").victims.empty());
    CHECK_FALSE(world.base("new").planned);
  }
}

TEST_CASE("a new leader goes on from the status", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  for (int i = 0; i < 4; ++i) {
    world.state = {};
    world.cycle();
  }
  CHECK(world.base("old").reason == gang::kReasonPreempted);
  world.requeue("old");
  world.state = {};
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
}

TEST_CASE("a victim that has started again is not ended twice", "[extender][preempt]") {
  Preemptions world = with_a_request();
  world.cycle();
  REQUIRE(world.victims("new") == Names{"b/request-1"});
  // It was requeued by itself, and started again, before it was marked.
  world.get("b").status.gangs[1].placements[0].number = world.get("b").status.next_placement++;
  world.mode = PreemptionMode::kOff;  // no new search
  world.cycle();
  CHECK(world.get("b").status.gangs[1].reason == gang::kReasonPlanned);
  CHECK(world.base("new").reason == gang::kReasonUnschedulable);
}

TEST_CASE("no victim ends before the status of the Queue counts the preemption",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.cycle();
  for (int i = 0; i < 5; ++i) {
    world.queue("vision").preemptions.clear();  // the write is lost
    world.cycle();
    CHECK(world.base("old").reason == gang::kReasonPlanned);
  }
}

TEST_CASE("a plan of another gang and one that preempts on its node both go on",
          "[extender][preempt]") {
  Preemptions world;
  world.add_running("old", "speech", {"n1"}, 4);
  world.add_running("older", "speech", {"n2"}, 8);
  world.base("old").started_at = SysTime(std::chrono::seconds(2));
  world.add("small", "speech", 1, 4);
  world.cycle();
  REQUIRE(world.base("small").planned);
  world.add("new", "vision", 1, 4);
  REQUIRE(world.run_until("new", gang::kReasonPreempting));
  REQUIRE(world.victims("new") == Names{"old/base"});
  for (int i = 0; i < 3; ++i) {
    world.cycle();
    CHECK(world.base("small").planned);
    CHECK(world.base("new").reason == gang::kReasonPreempting);
  }
  SECTION("the victim ends") {
    world.remove("old");
    world.cycle();
    CHECK(world.base("small").planned);
    CHECK(world.base("new").planned);
  }
  SECTION("another scheduler takes as much: the plan for which nothing ended yields") {
    world.remove("old");
    world.others = {{"n1", 4}};
    world.cycle();
    CHECK(world.base("new").planned);
    CHECK_FALSE(world.base("small").planned);
  }
}

TEST_CASE("a victim that runs on is not lent to the gangs behind", "[extender][preempt]") {
  Preemptions world;
  world.add_running("low", "speech", {"n1"}, 8, 1);
  world.add_running("middle", "speech", {"n2"}, 8, 2);
  world.add("new", "speech", 2, 8, 3);
  REQUIRE(world.run_until("new", gang::kReasonPreempting));
  REQUIRE(world.victims("new").size() == 2);
  // Another leader stopped between the two marks, and the gang gets its nodes: "middle" runs on.
  world.queue("speech").preemptions = {world.base("new").since};
  world.remove("low");
  world.nodes[1] = view(a_node("n2", 24));
  world.add_running("third", "speech", {"n2"}, 8, 2);
  world.queue("vision").quota = with_quota(vision(), 16).quota;
  world.add("behind", "vision", 1, 16);
  gang::PodGroup& behind = world.get("behind");
  behind = testing::planned(behind, {"n2"}, false);
  gang::GangStatus& base = behind.status.gangs[0];
  behind.status.queue.name = "vision";
  base.planned = false;
  base.reason = std::string(gang::kReasonPreempting);
  base.victims = {{world.get("third").meta.uid, "base"}};
  base.victims[0].through = 1;
  base.since = world.now;
  world.queue("vision").preemptions = {world.now};
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK(world.base("middle").reason == gang::kReasonPlanned);
  CHECK(world.base("third").reason == gang::kReasonPlanned);
}

TEST_CASE("a running gang that lost a pod comes before one that preempts", "[extender][preempt]") {
  Preemptions world;
  world.nodes.push_back(view(a_node("n3", 8)));
  world.add_running("older", "speech", {"n1", "n2"}, 4);
  world.add_running("old", "speech", {"n2"}, 4);
  world.others = {{"n1", 4}, {"n3", 4}};
  world.add("new", "vision", 2, 4);
  world.queue("vision").quota = with_quota(vision(), 8).quota;
  REQUIRE(world.run_until("new", gang::kReasonPreempting));
  // One of its nodes has capacity already; the node of a pod of "older" is lost, and the controller
  // wants the slot's next pod.
  std::erase_if(world.nodes, [](const auto& one) { return one.node->name == "n1"; });
  ++world.get("older").spec.gangs[0].members[0].slots[0].incarnation;
  ++world.get("older").meta.generation;
  world.others = {{"n3", 4}};
  world.cycle();
  const auto& placements = world.base("older").placements;
  REQUIRE(placements.size() == 2);
  CHECK(placements[0].node == "n3");
  CHECK(world.base("new").reason == gang::kReasonUnschedulable);
  world.cycle();
  CHECK(world.base("old").reason == gang::kReasonPlanned);
}

TEST_CASE("the plan is judged by today's queues before anything ends", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.cycle();
  REQUIRE(world.victims("new") == Names{"old/base"});
  SECTION("its queue is held") { world.queue("vision").stop = Queue::Stop::kHold; }
  SECTION("its queue is drained") { world.queue("vision").stop = Queue::Stop::kHoldAndDrain; }
  SECTION("its queue was deleted") { world.queues.erase(world.queues.begin()); }
  SECTION("its queue has less quota") { world.queue("vision").quota[0].total = 4; }
  SECTION("its queue does not reclaim any more") {
    world.queue("vision").reclaim = Queue::Reclaim::kNever;
  }
  SECTION("the queue of the victim guarantees as much") {
    world.queue("speech").quota = with_quota(speech(), 16).quota;
  }
  SECTION("the victim's queue protects it for longer") {
    world.queue("speech").min_runtime_seconds = 100'000;
  }
  SECTION("the flag is off") { world.mode = PreemptionMode::kOff; }
  for (int i = 0; i < 4; ++i) {
    world.cycle();
    CHECK(world.base("old").reason == gang::kReasonPlanned);
    CHECK(world.base("older").reason == gang::kReasonPlanned);
  }
  CHECK(world.base("new").victims.empty());
}

TEST_CASE("a reclaim is judged twice by the same facts: classes of nodes", "[extender][preempt]") {
  Preemptions world;
  world.nodes = {testing::node_of_class("n1", "fast"), testing::node_of_class("n2", "slow")};
  world.queue("vision").quota = with_quota(vision(), {{"fast", 8}}).quota;
  world.queue("speech").quota = with_quota(speech(), {{"slow", 8}}).quota;
  world.add_running("old", "speech", {"n1"}, 8);
  world.add_running("older", "speech", {"n2"}, 8);
  world.add("new", "vision", 1, 8);
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  CHECK(world.base("new").reason == gang::kReasonPreempting);
  CHECK(world.queue("vision").preemptions.size() == 1);
}

TEST_CASE("a reclaim is judged twice by the same facts: victims that were spared",
          "[extender][preempt]") {
  Preemptions world;
  for (const char* name : {"n1", "n2", "n3"})
    world.add_running(std::string("on-") + name, "speech", {name}, name[1] == '1' ? 4 : 8);
  const auto set_cpu = [&world](const std::string& name, std::int64_t milli) {
    world.get(name).spec.gangs[0].members[0].shape.requests.set("cpu", milli);
  };
  world.nodes.push_back(view(a_node("n3", 8)));
  world.others = {{"n1", 4}};
  set_cpu("on-n1", 8'000);
  set_cpu("on-n2", 32'000);
  set_cpu("on-n3", 32'000);
  world.base("on-n1").started_at = SysTime(std::chrono::seconds(3));
  world.base("on-n2").started_at = SysTime(std::chrono::seconds(2));
  world.queue("vision").quota.insert(world.queue("vision").quota.begin(), {"cpu", 32'000, {}});
  world.queue("speech").quota = with_quota(speech(), 8).quota;
  world.queue("speech").quota.insert(world.queue("speech").quota.begin(), {"cpu", 64'000, {}});
  world.add("new", "vision", 1, 8);
  set_cpu("new", 32'000);
  // It frees no node for the gang; with it, speech borrows CPUs.
  REQUIRE(world.run_until("on-n2", gang::kReasonPreempted));
  CHECK(world.base("on-n1").reason == gang::kReasonPlanned);
  CHECK(world.base("on-n3").reason == gang::kReasonPlanned);
  CHECK(world.base("new").reason == gang::kReasonPreempting);
}

TEST_CASE("a reclaim is judged twice by the same facts: a request that is ending",
          "[extender][preempt]") {
  Preemptions world;
  world.queue("speech").quota = with_quota(speech(), 8).quota;
  world.add_running("a", "speech", {"n1"}, 8);
  world.base("a").started_at = world.now;
  world.add_running("b", "speech", {"n2"}, 4);
  world.add_request("b", {"n2"}, 4);
  world.request("b").reason = std::string(gang::kReasonPreempted);
  world.request("b").message = "preempted";
  world.request("b").since = world.now;
  world.add("new", "vision", 1, 8);
  CHECK(world.run_until("b", gang::kReasonPreempted));
  CHECK(world.base("a").reason == gang::kReasonPlanned);
}

TEST_CASE("a preemption that stops before any mark counts for nothing, and is not repeated at once",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.cycle();
  world.cycle();
  REQUIRE(world.queue("vision").preemptions.size() == 1);
  world.queue("vision").reclaim = Queue::Reclaim::kNever;
  world.cycle();
  CHECK(world.base("new").reason == gang::kReasonUnschedulable);
  world.queue("vision").reclaim = Queue::Reclaim::kAny;
  for (int i = 0; i < 20; ++i) {
    world.cycle();
    CHECK(world.base("new").victims.empty());
  }
  CHECK(world.queue("vision").preemptions.empty());
  world.now += std::chrono::seconds(10);
  CHECK(world.run_until("old", gang::kReasonPreempted));
  CHECK(world.queue("vision").preemptions.size() == 1);
}

TEST_CASE("what has ended for a gang counts as long as the gang preempts", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  const auto times = world.queue("vision").preemptions;
  REQUIRE(times.size() == 1);
  SECTION("with the flag off") { world.mode = PreemptionMode::kOff; }
  SECTION("no queue preempts any more") {
    world.queue("vision").reclaim = Queue::Reclaim::kNever;
    world.queue("speech").preemption = Queue::Preemption::kNever;
  }
  SECTION("longer than the period") { world.now += queue::kPreemptionPeriod; }
  for (int i = 0; i < 3; ++i) {
    world.now += std::chrono::seconds(60);
    world.cycle();
    CHECK(world.queue("vision").preemptions == times);
  }
  world.remove("old");
  world.cycle();
  CHECK(world.base("new").planned);
}

TEST_CASE("a time of a wrong clock does not count as a preemption", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  auto& times = world.queue("vision").preemptions;
  for (std::size_t i = 0; i < queue::kMostPreemptions; ++i) {
    times.push_back(world.now + queue::kPreemptionPeriod * 2 + std::chrono::seconds(i));
  }
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  CHECK(world.queue("vision").preemptions.size() == 1);
}

TEST_CASE("a preemption whose end cannot be written is not decided again at once",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.cycle();
  REQUIRE(world.victims("new") == Names{"old/base"});
  world.queue("vision").stop = Queue::Stop::kHold;
  world.remove("old");
  const CycleResult result =
      run_cycle(world.snapshot(), std::move(world.state), world.now, {{}, world.mode});
  REQUIRE(result.look_again);
  CHECK(*result.look_again >= std::chrono::seconds(1));
}

TEST_CASE("with the flag off, what has ended for a gang is not lost", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  world.mode = PreemptionMode::kOff;
  world.cycle();
  CHECK(world.base("new").reason == gang::kReasonPreempting);
  world.requeue("old", true);
  world.cycle();
  CHECK(world.base("new").reason == gang::kReasonPreempting);
  world.terminating.clear();
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
}

TEST_CASE("a request that was requeued waits in its queue, though a pod of it has finished",
          "[extender][preempt]") {
  Preemptions world = with_a_request(2);
  world.finished.emplace(world.get("b").meta.uid, world.request("b").placements[0].number);
  REQUIRE(world.run_until("b", gang::kReasonPreempted, 1));
  ++world.get("b").spec.gangs[1].members[0].slots[1].incarnation;
  ++world.get("b").meta.generation;
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK_FALSE(world.request("b").committed);
  CHECK(world.request("b").reason == gang::kReasonUnschedulable);
}

TEST_CASE("a victim that is requeued in part because it could not be healed is not marked",
          "[extender][preempt]") {
  Preemptions world = with_a_request(2);
  world.cycle();
  REQUIRE(world.victims("new") == Names{"b/request-1"});
  gang::GangStatus& request = world.request("b");
  request.placements.erase(request.placements.begin());  // with its node; another one has none
  request.planned = false;
  request.reason = std::string(gang::kReasonHealingTimeout);
  request.healing_since = world.now - std::chrono::hours(1);
  world.others = {{"n2", 2}};
  world.cycle();
  CHECK(world.request("b").reason == gang::kReasonHealingTimeout);
  CHECK(world.base("new").victims.empty());
}

TEST_CASE("a request that was requeued is not preempted any more", "[extender][preempt]") {
  Preemptions world = with_a_request();
  REQUIRE(world.run_until("b", gang::kReasonPreempted, 1));
  // No cycle saw the PodGroup without the request.
  world.requeue_request("b");
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK_FALSE(world.request("b").committed);
  CHECK(world.request("b").reason == gang::kReasonUnschedulable);
  world.remove("a");
  world.cycle();
  CHECK(world.request("b").planned);
}

}  // namespace
}  // namespace nervex::planner
