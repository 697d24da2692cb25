#include "extender/cycle/preemption/preempt.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/extender/cycle/preemption/preemptions.h"

namespace nervex::extender {
namespace {

using queue::PreemptionMode;
using queue::Queue;
using testing::a_full_cluster;
using testing::a_node;
using testing::Preemptions;
using testing::speech;
using testing::view;
using testing::vision;
using testing::with_limit;
using testing::with_quota;

using Names = std::vector<std::string>;

// Speech runs job "a" on n1, and job "b" with a request on n2; vision waits for what the request
// uses.
Preemptions with_a_request() {
  Preemptions world;
  world.add_running("a", "speech", {"n1"}, 8);
  world.add_running("b", "speech", {"n2"}, 4);
  world.add_request("b", "n2", 4);
  world.add("new", "vision", 1, 4);
  return world;
}

TEST_CASE("victims are named, then marked, and the gang is planned when they have ended",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.cycle();
  CHECK(world.base("new").reason == gang::kReasonPreempting);
  CHECK_FALSE(world.base("new").planned);
  CHECK(world.base("new").message ==
        "1 job of others is preempted; it starts when their pods have ended");
  CHECK(world.base("new").placements.size() == 1);
  CHECK(world.victims("new") == Names{"old/base"});  // the younger one
  CHECK(world.base("new").victims[0].is_reclaimed);
  CHECK(world.base("old").reason == gang::kReasonPlanned);

  world.cycle();
  CHECK(world.queue("vision").preemptions.size() == 1);
  CHECK(world.base("old").reason == gang::kReasonPlanned);

  world.cycle();
  CHECK(world.base("old").reason == gang::kReasonPreempted);
  CHECK(gang::is_released(world.base("old")));
  CHECK(world.base("old").message.find("queue vision reclaims") != std::string::npos);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
  CHECK(world.base("new").reason == gang::kReasonPreempting);
  CHECK(world.cycle() == 0);  // nothing more until its pods have ended

  world.requeue("old");
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK(world.base("new").victims.empty());
  CHECK(world.base("new").reason == gang::kReasonPlanned);
  CHECK(world.base("old-again").reason == gang::kReasonUnschedulable);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
}

TEST_CASE("nothing is preempted unless the flag and the queue say so", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  SECTION("the flag is off") { world.mode = PreemptionMode::kOff; }
  SECTION("the victims are young") {
    world.base("old").started_at = world.base("older").started_at = world.now;
  }
  SECTION("the gang does not fit even then") {
    world.remove("new");
    world.add("new", "vision", 1, 8);
    world.get("new").spec.gangs[0].members[0].shape.requests.set("cpu", 65'000);
  }
  SECTION("it is beyond the quota of its queue") {
    world.remove("new");
    world.add("new", "vision", 2, 8);
  }
  world.cycle();
  world.cycle();
  CHECK(world.base("new").victims.empty());
  CHECK(world.base("old").reason == gang::kReasonPlanned);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
}

TEST_CASE("what the search found is said, and it is not repeated in each cycle",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.base("old").started_at = world.base("older").started_at = world.now;
  world.cycle();
  CHECK(world.base("new").message.find("what its queue may preempt is not enough") !=
        std::string::npos);
  REQUIRE(world.state.preemption.searches.size() == 1);
  const SysTime again = world.state.preemption.searches.begin()->second.again;
  world.cycle();
  CHECK(world.state.preemption.searches.begin()->second.again == again);
  world.now += std::chrono::seconds(300);
  world.cycle();
  CHECK(world.base("new").reason == gang::kReasonPreempting);
}

TEST_CASE("a request ends before a job does", "[extender][preempt]") {
  Preemptions world = with_a_request();
  world.cycle();
  CHECK(world.victims("new") == Names{"b/request-1"});
  CHECK(world.run_until("b", gang::kReasonPreempted, 1));
  CHECK(world.base("b").reason == gang::kReasonPlanned);
}

TEST_CASE("priority counts inside a queue, even at its limit", "[extender][preempt]") {
  Preemptions world;
  Queue limited = with_limit(speech(), 8);
  world.queues = {limited};
  world.add_running("low", "speech", {"n1"}, 4, 1);
  world.add_running("middle", "speech", {"n1"}, 4, 2);
  world.add("high", "speech", 1, 4, 3);
  world.cycle();
  CHECK(world.victims("high") == Names{"low/base"});
  CHECK_FALSE(world.base("high").victims[0].is_reclaimed);
  CHECK(world.run_until("low", gang::kReasonPreempted));
  CHECK(world.base("low").message.find("higher priority in queue speech") != std::string::npos);
}

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

TEST_CASE("a preemptor whose place another scheduler took preempts again, within the rate",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  world.requeue("old");
  world.others = {{"n1", 8}};
  SECTION("again") {
    world.cycle();
    CHECK(world.victims("new").empty());  // not in the cycle in which it lost its place
    REQUIRE(world.run_until("new", gang::kReasonPreempting));
    CHECK(world.victims("new") == Names{"older/base"});
    REQUIRE(world.run_until("older", gang::kReasonPreempted));
    CHECK(world.queue("vision").preemptions.size() == 2);
  }
  SECTION("too often") {
    auto& times = world.queue("vision").preemptions;
    times.resize(queue::kMostPreemptions, times.front());
    for (std::size_t i = 0; i < times.size(); ++i) times[i] += std::chrono::milliseconds(i);
    world.cycle();
    world.now += std::chrono::seconds(60);  // the message is written once a minute
    world.cycle();
    CHECK(world.base("new").victims.empty());
    CHECK(world.base("new").message.find("limit of preemptions") != std::string::npos);
    CHECK(world.base("older").reason == gang::kReasonPlanned);
  }
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

TEST_CASE("two waiting gangs do not count on the same victim", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.add("urgent", "speech", 1, 8, 5);
  REQUIRE(world.run_until("new", gang::kReasonPreempting));
  REQUIRE(world.run_until("urgent", gang::kReasonPreempting));
  CHECK(world.victims("new") != world.victims("urgent"));
}

TEST_CASE("what is to end for one gang is not borrowed twice", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  Queue guaranteed = with_quota(speech(), 8);
  Queue third = vision();
  third.name = "third";
  world.queues = {vision(), guaranteed, third};
  world.add("second", "third", 1, 8);
  for (int i = 0; i < 3; ++i) world.cycle();
  CHECK(world.victims("new").size() == 1);
  CHECK(world.victims("second").empty());
}

// ---- victims that end slowly, and what else is about to be free

TEST_CASE("a victim is gone when its last pod is", "[extender][preempt]") {
  Preemptions world = with_a_request();
  SECTION("a request") {
    REQUIRE(world.run_until("b", gang::kReasonPreempted, 1));
    world.requeue_request("b", true);
  }
  SECTION("a job") {
    world.remove("new");
    world.add("new", "vision", 1, 8);
    REQUIRE(world.run_until("a", gang::kReasonPreempted));
    world.requeue("a", true);
  }
  for (int i = 0; i < 3; ++i) {
    world.cycle();
    CHECK(world.base("new").reason == gang::kReasonPreempting);
    CHECK(world.victims("new").size() == 1);
  }
  world.terminating.clear();
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK(world.base("b").reason == gang::kReasonPlanned);
}

TEST_CASE("nothing ends for a gang that gets what others are about to give back",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  SECTION("pods that are being deleted") { world.requeue("old", true); }
  SECTION("a gang that was released") {
    world.base("old").reason = std::string(gang::kReasonPreempted);
    world.base("old").message = "preempted";
    world.base("old").since = world.now;
  }
  for (int i = 0; i < 3; ++i) {
    world.cycle();
    CHECK(world.base("new").victims.empty());
  }
  // They do not end in time.
  world.now += std::chrono::minutes(5);
  CHECK(world.run_until("new", gang::kReasonPreempting));
  CHECK(world.victims("new") == Names{"older/base"});
}

TEST_CASE("a pod with a long grace period is not about to be free until its last minutes",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.grace_period = std::chrono::seconds(600);
  world.requeue("old", true);
  const bool is_over_soon = GENERATE(false, true);
  if (is_over_soon) world.now += std::chrono::seconds(301);
  for (int i = 0; i < 5; ++i) world.cycle();
  CHECK(world.victims("new") == (is_over_soon ? Names{} : Names{"older/base"}));
}

TEST_CASE("a pod of another namespace that names a PodGroup is none of its pods",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.base("older").started_at = world.now;  // too young
  world.terminate("old");
  auto pod = std::make_shared<kube::Pod>(*world.terminating.at(0));
  pod->meta.ns = "other";
  pod->requests = {};
  pod->node = "";
  world.terminating = {pod};
  CHECK(world.run_until("new", gang::kReasonPreempting));
  CHECK(world.victims("new") == Names{"old/base"});
}

TEST_CASE("the end of a victim does not give back what its terminating pod gives back anyway",
          "[extender][preempt]") {
  Preemptions world;
  world.others = {{"n2", 8}};
  world.add_running("old", "speech", {"n1"}, 4);
  world.add_running("older", "speech", {"n1"}, 4);
  world.base("older").started_at = world.now;  // too young
  world.terminate("old");                      // evicted: its controller replaces the pod
  world.add("new", "vision", 1, 8);
  world.cycle();
  CHECK(world.base("new").victims.empty());
}

TEST_CASE("a small gang gets what the victims of another one leave", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.remove("new");
  world.add("new", "vision", 1, 4);
  world.queues.push_back(vision());
  world.queues.back().name = "third";
  world.add("second", "third", 1, 4);
  for (int i = 0; i < 5; ++i) world.cycle();
  REQUIRE(world.base("old").reason == gang::kReasonPreempted);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
  CHECK(world.base("second").victims.empty());
  world.remove("old");
  world.cycle();
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK(world.base("second").planned);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
}

TEST_CASE("the use of a victim counts once while its pods end", "[extender][preempt]") {
  Preemptions world;
  world.queues = {vision(), with_quota(speech(), 8)};
  world.queues.push_back(vision());
  world.queues.back().name = "third";
  world.add_running("old", "speech", {"n1"}, 8);
  world.add_running("older", "speech", {"n2"}, 8);
  world.base("old").started_at = SysTime(std::chrono::seconds(2));
  world.add("new", "vision", 1, 8);
  world.add("second", "third", 1, 8);
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  world.requeue("old", true);
  for (int i = 0; i < 40; ++i) {
    world.cycle();
    // What is left is the quota of speech.
    CHECK(world.base("second").victims.empty());
    CHECK(world.base("older").reason == gang::kReasonPlanned);
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

// ---- rules that change, and plans that fail

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

TEST_CASE("a reclaim is judged twice by the same facts: a request that is ending",
          "[extender][preempt]") {
  Preemptions world;
  world.queue("speech").quota = with_quota(speech(), 8).quota;
  world.add_running("a", "speech", {"n1"}, 8);
  world.base("a").started_at = world.now;
  world.add_running("b", "speech", {"n2"}, 4);
  world.add_request("b", "n2", 4);
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

TEST_CASE("nothing more is preempted while preempted gangs are not requeued",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  Queue third = vision();
  third.name = "third";
  world.queues.push_back(third);
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  const bool acts = GENERATE(false, true);
  if (acts) world.terminate("old");  // its pods do not end
  world.now += std::chrono::minutes(5);
  world.add("second", "third", 1, 8);
  CHECK(world.run_until("older", gang::kReasonPreempted) == acts);
  if (acts) return;
  CHECK(world.base("second").message.find("until the controller") != std::string::npos);
  world.requeue("old");
  CHECK(world.run_until("older", gang::kReasonPreempted));
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

TEST_CASE("a gang whose last plans failed ends nothing for a while", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.base("old").started_at = world.base("older").started_at = world.now;
  world.cycle();
  world.base("old").started_at = world.base("older").started_at = SysTime(std::chrono::seconds(1));
  world.state = {};
  world.base("new").refusals = {1, world.now, "kube-scheduler refused learner/0"};
  world.cycle();
  CHECK(world.base("new").victims.empty());
  CHECK(world.base("new").message.find("its last start failed") != std::string::npos);
  world.now += std::chrono::seconds(61);
  CHECK(world.run_until("new", gang::kReasonPreempting));
}

// Job "b" runs on n2 with a request for two pods; "new" wants what the request uses and what is
// free.
Preemptions with_a_request_of_two() {
  Preemptions world;
  world.add_running("a", "speech", {"n1"}, 8);
  world.add_running("b", "speech", {"n2"}, 4);
  gang::PodGroup& job = world.get("b");
  testing::add_member(job, testing::in_request(testing::a_set("collector", 2, testing::ask(2)), 1));
  job = testing::planned(job, {"n2", "n2"}, true, "request-1");
  world.request("b").started_at = SysTime(std::chrono::seconds(1));
  world.add("new", "vision", 1, 4);
  return world;
}

TEST_CASE("a request that was requeued waits in its queue, though a pod of it has finished",
          "[extender][preempt]") {
  Preemptions world = with_a_request_of_two();
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
  Preemptions world = with_a_request_of_two();
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

TEST_CASE("a gang whose pods the API server refused ends nothing for a while",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();  // a PodGroup of the next attempt: it has no status yet
  world.get("new").spec.gangs[0].preempt_after = world.now + std::chrono::seconds(60);
  for (int i = 0; i < 50; ++i) {
    world.cycle();
    CHECK(world.base("new").victims.empty());
  }
  CHECK(world.base("new").message.find("its last start failed") != std::string::npos);
  world.now += std::chrono::seconds(10);
  CHECK(world.run_until("new", gang::kReasonPreempting));
}

TEST_CASE("a request of a job that ends does not preempt", "[extender][preempt]") {
  Preemptions world;
  world.add_running("old", "speech", {"n1"}, 8);
  world.add_running("job", "vision", {"n2"}, 4);
  world.others = {{"n2", 4}};
  world.get("job").spec.gangs[0].members[0].bind_last = true;  // its coordinator
  world.queue("vision").quota = with_quota(vision(), 16).quota;
  const auto end_job = [&] {
    gang::GangStatus& base = world.base("job");
    SECTION("its coordinator has finished") {
      world.finished.emplace(world.get("job").meta.uid, base.placements[0].number);
    }
    SECTION("its coordinator is being deleted") { world.terminate("job"); }
    SECTION("it is preempted itself") {
      base.reason = std::string(gang::kReasonPreempted);
      base.message = "preempted";
      base.since = world.now;
    }
    SECTION("its queue is drained") { world.queue("vision").stop = Queue::Stop::kHoldAndDrain; }
  };
  gang::PodGroup& job = world.get("job");
  testing::add_member(job, testing::in_request(testing::a_set("collector", 1, testing::ask(8)), 1));
  const bool is_begun = GENERATE(true, false);
  if (is_begun) REQUIRE(world.run_until("job", gang::kReasonPreempting, 1));
  end_job();
  for (int i = 0; i < 5; ++i) world.cycle();
  CHECK(world.request("job").victims.empty());
  CHECK(world.base("old").reason == gang::kReasonPlanned);
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

TEST_CASE("each waiting gang gets its turn to search", "[extender][preempt]") {
  Preemptions world;
  world.add_running("old", "speech", {"n1"}, 8, 1);
  world.add_running("older", "speech", {"n2"}, 8, 1);
  for (int i = 0; i < 8; ++i) world.add("large" + std::to_string(i), "speech", 3, 8, 9);
  world.add("new", "speech", 1, 8, 5);
  CHECK(world.run_until("new", gang::kReasonPreempting));
}

TEST_CASE("gangs that keep coming do not search before one that waits", "[extender][preempt]") {
  Preemptions world;
  world.add_running("old", "speech", {"n1"}, 8, 1);
  world.add_running("older", "speech", {"n2"}, 8, 1);
  world.add("new", "speech", 1, 8, 5);
  for (int i = 0; i < 10; ++i) {
    for (int k = 0; k < 2; ++k) {
      world.add("large" + std::to_string(2 * i + k), "speech", 3, 8, 9);
    }
    world.cycle();
  }
  CHECK(world.victims("new").size() == 1);
}

TEST_CASE("a simulation searches for the gang that is asked about", "[extender][preempt]") {
  Preemptions world;
  world.add_running("old", "speech", {"n1"}, 8, 1);
  world.add_running("older", "speech", {"n2"}, 8, 1);
  for (int i = 0; i < 8; ++i) world.add("large" + std::to_string(i), "speech", 3, 8, 9);
  const gang::PodGroup& asked = world.add("new", "speech", 1, 8, 5);
  world.state.preemption.asked = GangKey(asked.meta.uid, gang::kBaseGang);
  world.cycle();
  CHECK(world.victims("new").size() == 1);
}

}  // namespace
}  // namespace nervex::extender
