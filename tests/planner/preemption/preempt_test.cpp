#include "planner/preemption/preempt.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/planner/preemption/preemptions.h"

namespace nervex::planner {
namespace {

using queue::PreemptionMode;
using queue::Queue;
using testing::a_full_cluster;
using testing::Preemptions;
using testing::speech;
using testing::vision;
using testing::with_a_request;
using testing::with_limit;
using testing::with_quota;

using Names = std::vector<std::string>;

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

TEST_CASE("what takes longer to end than a gang waits does not end in vain",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.get("old").spec.grace_seconds = 541;
  SECTION("others end instead") {
    world.get("older").spec.grace_seconds = 540;
    world.cycle();
    CHECK(world.victims("new") == Names{"older/base"});
  }
  SECTION("nothing ends if all take so long") {
    world.get("older").spec.grace_seconds = 3'600;
    for (int i = 0; i < 40; ++i) world.cycle();
    CHECK(world.victims("new").empty());
    CHECK(world.base("new").message.find("preempt") != std::string::npos);
  }
}

// Job "mine" of vision, which started 100 s ago, waits for a request; speech has the other node.
Preemptions with_a_job_that_ends_after(int seconds_left) {
  Preemptions world;
  world.add_running("old", "speech", {"n1"}, 8);
  world.add_running("mine", "vision", {"n2"}, 4);
  world.others = {{"n2", 4}};
  world.base("mine").started_at = world.now - std::chrono::seconds(100);
  world.get("mine").spec.active_deadline_seconds = 100 + seconds_left;
  testing::add_member(world.get("mine"),
                      testing::in_request(testing::a_set("collector", 1, testing::ask(4)), 1));
  return world;
}

TEST_CASE("a request ends nothing for a job that ends soon itself", "[extender][preempt]") {
  struct Row {
    std::string when;
    int seconds_left;
    int grace;
    bool preempts;
  };
  const auto row = GENERATE(values<Row>({
      {"seconds are left", 20, 0, false},
      {"five minutes are left when the victim has ended", 60 + 30 + 300, 30, true},
      {"less is left", 60 + 30 + 299, 30, false},
      {"the victim takes long to end", 60 + 30 + 300, 31, false},
  }));
  INFO("when " << row.when);
  Preemptions world = with_a_job_that_ends_after(row.seconds_left);
  world.get("old").spec.grace_seconds = row.grace;
  world.cycle();
  CHECK((world.request("mine").reason == gang::kReasonPreempting) == row.preempts);
  CHECK(world.request("mine").victims.size() == (row.preempts ? 1U : 0U));
}

// With the request, speech would borrow 16 of its 24 GPUs, all that the job has; without it, and it
// ends with the job, it borrows 12.
TEST_CASE("what a job's request is about to use ends with the job", "[extender][preempt]") {
  Preemptions world;
  world.nodes.push_back(testing::view(testing::a_node("n3", 8)));
  world.queue("speech").quota = with_quota(testing::a_queue(""), 8).quota;
  world.add_running("big", "speech", {"n1", "n2"}, 8, 2);
  world.add_running("small", "speech", {"n3"}, 4, 1);
  testing::add_member(world.get("big"),
                      testing::in_request(testing::a_set("collector", 1, testing::ask(8)), 1));
  REQUIRE(world.run_until("big", gang::kReasonPreempting, 1));
  world.add("new", "vision", 1, 8);
  for (int i = 0; i < 10; ++i) {
    world.cycle();
    CHECK(world.victims("new") == Names{});
  }
  CHECK(world.base("small").reason == gang::kReasonPreempted);
  world.requeue("small");
  world.cycle();
  CHECK(world.request("big").planned);
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
  CHECK(world.base("new").message.find("what may be preempted for it is not enough") !=
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

TEST_CASE("a queue reclaims no nodes of a class that only its limit names", "[extender][preempt]") {
  Preemptions world;
  world.nodes = {testing::node_of_class("n1", "slow"), testing::node_of_class("n2", "slow")};
  world.queue("vision").quota = with_quota(vision(), {{"fast", 8}}).quota;
  world.queue("vision").limit = with_limit(vision(), {{"slow", 16}}).limit;
  world.add_running("old", "speech", {"n1"}, 8);
  world.add_running("older", "speech", {"n2"}, 8);
  world.add("new", "vision", 1, 8);
  for (int i = 0; i < 3; ++i) world.cycle();
  CHECK(world.victims("new").empty());
  CHECK(world.base("old").reason == gang::kReasonPlanned);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
}

TEST_CASE("a queue preempts by priority on nodes of a class that its quota does not name",
          "[extender][preempt]") {
  Preemptions world;
  world.nodes = {testing::node_of_class("n1", "slow"), testing::node_of_class("n2", "slow")};
  world.queue("vision").quota = with_quota(vision(), {{"fast", 8}}).quota;
  world.queue("vision").preemption = Queue::Preemption::kLowerPriority;
  if (GENERATE(false, true)) {
    world.queue("vision").limit = with_limit(vision(), {{"slow", 16}}).limit;
  }
  world.add_running("other", "speech", {"n1"}, 8);
  world.add_running("low", "vision", {"n2"}, 8, 1);
  world.add("high", "vision", 1, 8, 2);
  REQUIRE(world.run_until("low", gang::kReasonPreempted));
  CHECK(world.victims("high") == Names{"low/base"});
  CHECK_FALSE(world.base("high").victims[0].is_reclaimed);
  CHECK(world.base("other").reason == gang::kReasonPlanned);
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

TEST_CASE("a job within its queue's quota is not reclaimed for finished pods of its neighbour",
          "[extender][preempt]") {
  Preemptions world;
  world.queues = {vision(), with_quota(speech(), 8)};
  world.mode = queue::PreemptionMode::kReclaim;
  world.add_running("old", "vision", {"n1"}, 4);
  world.others = {{"n1", 4}};
  world.add_running("half", "speech", {"n2", "n2"}, 4);
  world.add_running("own", "speech", {"n2"}, 4);
  world.finished.emplace(world.get("half").meta.uid, world.base("half").placements[0].number);
  world.add("new", "vision", 1, 4);
  for (int i = 0; i < 5; ++i) world.cycle();
  CHECK(world.used("speech") == 8);
  CHECK(world.base("new").victims.empty());
  CHECK(world.base("own").reason == gang::kReasonPlanned);
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
    SECTION("its coordinator's node is lost") {
      world.lost.emplace(world.get("job").meta.uid, base.placements[0].number);
    }
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

TEST_CASE("each waiting gang gets its turn to search", "[extender][preempt]") {
  Preemptions world;
  world.add_running("old", "speech", {"n1"}, 8, 1);
  world.add_running("older", "speech", {"n2"}, 8, 1);
  for (int i = 0; i < 8; ++i) world.add("large" + std::to_string(i), "speech", 3, 8, 9);
  world.add("new", "speech", 1, 8, 5);
  CHECK(world.run_until("new", gang::kReasonPreempting));
}

TEST_CASE("a gang that is served within quota and then beyond it searches once",
          "[extender][preempt]") {
  Preemptions world;
  world.nodes = {testing::node_of_class("n1", "fast"), testing::node_of_class("n2", "slow")};
  world.queue("vision").quota = with_quota(vision(), {{"fast", 16}}).quota;
  world.queue("speech").quota = with_quota(speech(), {{"fast", 8}, {"slow", 8}}).quota;
  world.queues.push_back(testing::a_taking_queue(testing::a_queue("third")));
  world.add_running("old", "speech", {"n1"}, 8);
  world.add_running("older", "speech", {"n2"}, 8);
  world.add("a", "vision", 1, 8);
  world.add("b", "third", 1, 8);
  world.cycle();
  // There is time for two searches in a cycle.
  for (const char* name : {"a", "b"}) {
    const auto& cause = std::get<gang::InsufficientCapacity>(*world.base(name).cause);
    CHECK(cause.preemption == gang::PreemptionOutcome::kNotEnough);
  }
}

TEST_CASE("many gangs of one queue do not delay the searches of another one",
          "[extender][preempt]") {
  Preemptions world;
  world.add_running("old", "speech", {"n1"}, 8, 1);
  world.add_running("older", "speech", {"n2"}, 8, 1);
  for (int i = 0; i < 60; ++i) world.add("large" + std::to_string(i), "speech", 3, 8, 9);
  world.cycle();
  world.add("new", "vision", 1, 8);
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

TEST_CASE("a PriorityClass that never preempts is obeyed where priorities decide",
          "[extender][preempt]") {
  struct Row {
    std::string when;
    bool never_preempts;
    Queue::Reclaim reclaim;
    bool preempts;
  };
  const auto row = GENERATE(values<Row>({
      {"reclaim LowerPriority", true, Queue::Reclaim::kLowerPriority, false},
      {"reclaim LowerPriority, by another class", false, Queue::Reclaim::kLowerPriority, true},
      {"reclaim Any is a right of the quota", true, Queue::Reclaim::kAny, true},
  }));
  INFO("when " << row.when);
  Preemptions world = a_full_cluster();
  world.queue("vision").reclaim = row.reclaim;
  world.get("new").spec.priority = 5;
  world.get("new").spec.never_preempts = row.never_preempts;
  world.cycle();
  CHECK((world.base("new").reason == gang::kReasonPreempting) == row.preempts);
  if (row.preempts) return;
  INFO(world.base("new").message);
  CHECK(world.base("new").message.find("preemptionPolicy of its PriorityClass is Never") !=
        std::string::npos);
}

TEST_CASE("a PriorityClass that never preempts takes from no lower priority of its queue",
          "[extender][preempt]") {
  Preemptions world;
  world.queues = {with_limit(speech(), 8)};
  world.add_running("low", "speech", {"n1"}, 8, 1);
  world.add("high", "speech", 1, 8, 3);
  const bool never_preempts = GENERATE(true, false);
  world.get("high").spec.never_preempts = never_preempts;
  world.cycle();
  CHECK((world.base("high").reason == gang::kReasonPreempting) == !never_preempts);
}

}  // namespace
}  // namespace nervex::planner
