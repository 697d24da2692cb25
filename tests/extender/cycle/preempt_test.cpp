#include "extender/cycle/preempt.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <functional>

#include "extender/cycle/scheduling_cycle.h"
#include "extender/cycle/settled.h"
#include "tests/queue/builders.h"
#include "tests/support/gang_builders.h"

namespace nervex::extender {
namespace {

using queue::PreemptionMode;
using queue::Queue;
using testing::a_group;
using testing::a_node;
using testing::a_queue;
using testing::a_set;
using testing::ask;
using testing::in_request;
using testing::view;
using testing::with_limit;
using testing::with_quota;

Queue for_all(Queue queue) {
  queue.namespace_selector = {};
  return queue;
}
Queue vision() {
  Queue queue = for_all(with_quota(a_queue("vision"), 8));
  queue.reclaim = Queue::Reclaim::kAny;
  return queue;
}
Queue speech() {
  Queue queue = for_all(a_queue("speech"));
  queue.preemption = Queue::Preemption::kLowerPriority;
  return queue;
}

// A cluster that keeps what cycles write; one set in each gang. Pods of a committed gang use its
// nodes until the test ends them.
struct Preemptions {
  Preemptions() {
    settled.set_tree(std::make_shared<const queue::QueueTree>(std::vector<queue::QueuePtr>{
        std::make_shared<const Queue>(vision()), std::make_shared<const Queue>(speech())}));
  }
  gang::PodGroup& add(const std::string& name, const std::string& queue, int count, int gpus,
                      int priority = 0) {
    gang::PodGroup group = a_group(name, {a_set("learner", count, ask(gpus))}, ++added, priority);
    group.spec.queue = queue;
    return groups.emplace_back(std::move(group));
  }
  // It runs on these nodes since long.
  void add_running(const std::string& name, const std::string& queue,
                   const std::vector<std::string>& on, int gpus, int priority = 0) {
    gang::PodGroup& group = add(name, queue, static_cast<int>(on.size()), gpus, priority);
    group = testing::planned(group, on, true);
    group.status.queue.name = queue;
    group.status.gangs[0].started_at = SysTime(std::chrono::seconds(1));
  }
  void add_request(const std::string& name, const std::string& node, int gpus) {
    gang::PodGroup& group = get(name);
    testing::add_member(group, in_request(a_set("collector", 1, ask(gpus)), 1));
    group = testing::planned(group, {node}, true, "request-1");
    group.status.gangs[1].started_at = SysTime(std::chrono::seconds(1));
  }
  gang::PodGroup* find(const std::string& name) {
    const auto at = std::find_if(groups.begin(), groups.end(),
                                 [&](const auto& group) { return group.meta.name == name; });
    return at == groups.end() ? nullptr : &*at;
  }
  gang::PodGroup& get(const std::string& name) { return *find(name); }
  gang::GangStatus& base(const std::string& name) { return get(name).status.gangs.at(0); }
  // The controller's part: the next attempt is a PodGroup of its own.
  void requeue(const std::string& name) {
    gang::PodGroup next = get(name);
    remove(name);
    next.meta.name += "-again";
    next.meta.uid += "-again";
    next.status = {};
    groups.push_back(std::move(next));
  }
  void remove(const std::string& name) {
    settled.erase(get(name).meta.uid);
    std::erase_if(groups, [&](const auto& group) { return group.meta.name == name; });
  }

  std::vector<placement::NodeView> free_nodes() const {
    std::vector<placement::NodeView> free = nodes;
    const auto take = [&](const std::string& name, const kube::Resources& amount) {
      std::find_if(free.begin(), free.end(), [&](const auto& one) {
        return one.node->name == name;
      })->free -= amount;
    };
    for (const gang::PodGroup& group : groups) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        if (!gang.committed) continue;
        const gang::Gang* spec = gang::find_gang(group.spec, gang.name);
        for (const auto& placement : gang.placements) {
          take(placement.node, spec->members[0].shape.requests);
        }
      }
    }
    for (const auto& [node, gpus] : others) take(node, ask(gpus));
    return free;
  }
  GroupSeen see(const gang::PodGroup& group) {
    GroupSeen seen{std::make_shared<const gang::PodGroup>(group), false, {}};
    seen.is_settled = is_settled(group, {});
    for (const gang::GangStatus& gang : group.status.gangs) {
      for (const gang::Victim& victim : gang.victims) {
        const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& one) {
          return one.meta.uid == victim.pod_group_uid;
        });
        seen.victims[gang.name].push_back(
            judge_victim(at == groups.end() ? nullptr : &*at, victim));
      }
    }
    seen.is_victim = std::any_of(groups.begin(), groups.end(), [&](const auto& other) {
      return std::any_of(other.status.gangs.begin(), other.status.gangs.end(), [&](const auto& g) {
        return std::any_of(g.victims.begin(), g.victims.end(), [&](const auto& victim) {
          return victim.pod_group_uid == group.meta.uid;
        });
      });
    });
    return seen;
  }
  // Number of writes.
  std::size_t cycle() {
    Snapshot snapshot;
    snapshot.nodes = free_nodes();
    for (const gang::PodGroup& group : groups) {
      GroupSeen seen = see(group);
      settled.set(group.meta.uid, std::make_shared<const std::vector<queue::Workload>>(
                                      seen.is_settled ? queue::list_workloads(group)
                                                      : std::vector<queue::Workload>()));
      snapshot.groups.push_back(std::move(seen));
    }
    snapshot.facts.settled = settled.get();
    auto ns = std::make_shared<kube::Namespace>();
    ns->meta.name = "rl";
    snapshot.facts.namespaces =
        std::make_shared<const queue::Namespaces>(queue::Namespaces{{"rl", ns}});
    state.waiting.gain_all();
    CycleResult result = run_cycle(snapshot, std::move(state), now, {}, mode);
    state = std::move(result.state);
    reports = std::move(result.queues);
    for (const StatusWrite& write : result.writes) {
      get(write.group->meta.name).status = write.status;
    }
    now += std::chrono::seconds(1);
    return result.writes.size();
  }
  std::vector<std::string> victims(const std::string& name) {
    std::vector<std::string> names;
    for (const gang::Victim& victim : base(name).victims) {
      names.push_back(victim.pod_group + "/" + victim.gang);
    }
    return names;
  }

  std::vector<placement::NodeView> nodes{view(a_node("n1", 8)), view(a_node("n2", 8))};
  std::vector<std::pair<std::string, int>> others;  // pods of another scheduler: node, GPUs
  PreemptionMode mode = PreemptionMode::kFull;
  queue::SettledWorkloads settled;
  std::vector<gang::PodGroup> groups;
  std::vector<queue::Report> reports;
  CycleState state;
  SysTime now{std::chrono::seconds(10'000)};
  int added = 0;
};
using Names = std::vector<std::string>;

// Speech borrows both nodes; vision waits for one.
Preemptions a_full_cluster() {
  Preemptions world;
  world.add_running("old", "speech", {"n1"}, 8);
  world.add_running("older", "speech", {"n2"}, 8);
  world.base("old").started_at = SysTime(std::chrono::seconds(2));
  world.add("new", "vision", 1, 8);
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
  CHECK(world.base("old").reason == gang::kReasonPreempted);
  CHECK(gang::is_released(world.base("old")));
  CHECK(world.base("old").message.find("queue vision takes back") != std::string::npos);
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
  Preemptions world;
  world.add_running("a", "speech", {"n1"}, 8);
  world.add_running("b", "speech", {"n2"}, 4);
  world.add_request("b", "n2", 4);
  world.add("new", "vision", 1, 4);
  world.cycle();
  CHECK(world.victims("new") == Names{"b/request-1"});
  world.cycle();
  CHECK(world.get("b").status.gangs[1].reason == gang::kReasonPreempted);
  CHECK(world.base("b").reason == gang::kReasonPlanned);
}

TEST_CASE("priority counts inside a queue, even at its limit", "[extender][preempt]") {
  Preemptions world;
  Queue limited = with_limit(speech(), 8);
  world.settled.set_tree(std::make_shared<const queue::QueueTree>(
      std::vector<queue::QueuePtr>{std::make_shared<const Queue>(limited)}));
  world.add_running("low", "speech", {"n1"}, 4, 1);
  world.add_running("middle", "speech", {"n1"}, 4, 2);
  world.add("high", "speech", 1, 4, 3);
  world.cycle();
  CHECK(world.victims("high") == Names{"low/base"});
  CHECK_FALSE(world.base("high").victims[0].is_reclaimed);
  world.cycle();
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
  world.cycle();
  world.cycle();
  REQUIRE(world.base("old").reason == gang::kReasonPreempted);
  world.remove("new");
  world.cycle();
  CHECK(world.base("old").reason == gang::kReasonPreempted);
  CHECK(world.cycle() == 0);
}

TEST_CASE("a new leader goes on from the status", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  for (int i = 0; i < 3; ++i) {
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
  Preemptions world;
  world.add_running("a", "speech", {"n1"}, 8);
  world.add_running("b", "speech", {"n2"}, 4);
  world.add_request("b", "n2", 4);
  world.add("new", "vision", 1, 4);
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
  world.cycle();
  world.cycle();
  REQUIRE(world.base("old").reason == gang::kReasonPreempted);
  world.requeue("old");
  world.others = {{"n1", 8}};
  SECTION("again") {
    world.cycle();
    CHECK(world.victims("new") == Names{"older/base"});
    CHECK(world.state.preemption.times.at("vision").size() == 2);
  }
  SECTION("too often") {
    auto& times = world.state.preemption.times.at("vision");
    times.resize(queue::kMostPreemptions, times.front());
    for (std::size_t i = 0; i < times.size(); ++i) times[i] += std::chrono::milliseconds(i);
    world.cycle();
    CHECK(world.base("new").victims.empty());
    CHECK(world.base("new").message.find("limit of preemptions") != std::string::npos);
    CHECK(world.base("older").reason == gang::kReasonPlanned);
  }
}

TEST_CASE("preemptions are reported at once, and read again by a new leader",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.remove("new");
  world.cycle();
  world.add("new", "vision", 1, 8);
  world.cycle();
  CHECK(world.base("new").reason == gang::kReasonPreempting);
  REQUIRE(world.reports.size() == 2);
  CHECK(world.reports[1].queue == "vision");
  CHECK(world.reports[1].preemptions.size() == 1);
  world.state = {};
  world.cycle();
  CHECK(world.state.preemption.times.at("vision") == world.reports[1].preemptions);
}

TEST_CASE("two waiting gangs do not count on the same victim", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.add("urgent", "speech", 1, 8, 5);
  world.cycle();
  CHECK(world.victims("new").size() == 1);
  CHECK(world.victims("urgent").size() == 1);
  CHECK(world.victims("new") != world.victims("urgent"));
}

TEST_CASE("what is to end for one gang is not borrowed twice", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  Queue guaranteed = with_quota(speech(), 8);
  Queue third = vision();
  third.name = "third";
  world.settled.set_tree(std::make_shared<const queue::QueueTree>(std::vector<queue::QueuePtr>{
      std::make_shared<const Queue>(vision()), std::make_shared<const Queue>(guaranteed),
      std::make_shared<const Queue>(third)}));
  world.add("second", "third", 1, 8);
  for (int i = 0; i < 3; ++i) world.cycle();
  CHECK(world.victims("new").size() == 1);
  CHECK(world.victims("second").empty());
}

}  // namespace
}  // namespace nervex::extender
