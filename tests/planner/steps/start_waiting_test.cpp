#include "planner/steps/start_waiting.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "planner/facts/settled.h"
#include "planner/scheduling_cycle.h"
#include "tests/queue/builders.h"
#include "tests/support/gang_builders.h"

namespace nervex::planner {
namespace {

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
using testing::with_weight;

// Its namespaces are those with the label queue=<name>.
Queue open_to_all(Queue queue) {
  queue.namespace_selector = {};
  return queue;
}
Queue stopped(Queue queue, Queue::Stop stop = Queue::Stop::kHold) {
  queue.stop = stop;
  return queue;
}

// A cluster that keeps what cycles write.
struct Teams {
  explicit Teams(std::vector<Queue> all) { set_queues(std::move(all)); }

  void set_queues(std::vector<Queue> all) {
    std::vector<queue::QueuePtr> queues;
    for (Queue& one : all) queues.push_back(std::make_shared<const Queue>(std::move(one)));
    settled.set_tree(std::make_shared<const queue::QueueTree>(std::move(queues)));
  }
  gang::PodGroup& add(const std::string& name, const std::string& queue, int gpus, int queued = 0) {
    gang::PodGroup group = a_group(name, {a_set("learner", 1, ask(gpus))}, queued);
    group.spec.queue = queue;
    return groups.emplace_back(std::move(group));
  }
  gang::PodGroup& get(const std::string& name) {
    return *std::find_if(groups.begin(), groups.end(),
                         [&](const auto& group) { return group.meta.name == name; });
  }
  gang::GangStatus& base(const std::string& name) { return get(name).status.gangs.at(0); }
  template <typename Views>
  static auto& find_node(Views& views, std::string_view name) {
    return *std::find_if(views.begin(), views.end(),
                         [&](const auto& view) { return view.node->name == name; });
  }
  // Number of writes.
  std::size_t cycle() {
    Snapshot snapshot;
    snapshot.nodes = free_nodes();
    for (const gang::PodGroup& group : groups) {
      GroupSeen seen{std::make_shared<const gang::PodGroup>(group), false, {}};
      seen.is_settled = is_settled(group, {});
      settled.set(group.meta.uid,
                  seen.is_settled ? testing::share(list_workloads(group)) : nullptr);
      snapshot.groups.push_back(std::move(seen));
    }
    snapshot.facts.settled = settled.get();
    snapshot.facts.class_label = "model";
    snapshot.facts.orphaned = orphaned;
    auto ns = std::make_shared<kube::Namespace>();
    ns->meta.name = "rl";
    queue::Namespaces namespaces;
    if (is_namespace_seen) namespaces.emplace("rl", ns);
    snapshot.facts.namespaces = std::make_shared<const queue::Namespaces>(namespaces);
    state.waiting.gain_all();  // all nodes may have changed
    CycleResult result = run_cycle(snapshot, std::move(state), now);
    state = std::move(result.state);
    reports = std::move(result.queues);
    planned = result.planned;
    for (const StatusWrite& write : result.writes)
      get(write.group->meta.name).status = write.status;
    return result.writes.size();
  }
  // Without what committed gangs use.
  std::vector<placement::NodeView> free_nodes() const {
    std::vector<placement::NodeView> free = nodes;
    for (const gang::PodGroup& group : groups) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Placement& placement : gang.placements) {
          if (!gang.committed) continue;
          find_node(free, placement.node).free -= group.spec.gangs[0].members[0].shape.requests;
        }
      }
    }
    return free;
  }
  std::vector<queue::Workload> list_workloads(const gang::PodGroup& group) const {
    std::vector<queue::Workload> workloads = queue::list_workloads(group);
    for (queue::Workload& workload : workloads) {
      queue::count_classes(workload, group, nullptr,
                           [this](std::string_view node) -> std::string_view {
                             const auto& labels = find_node(nodes, node).node->labels;
                             const auto label = labels.find("model");
                             return label == labels.end() ? std::string_view()
                                                          : std::string_view(label->second.str());
                           });
    }
    return workloads;
  }
  // The jobs that have nodes, in the order of their names.
  std::vector<std::string> placed() {
    std::vector<std::string> names;
    for (const gang::PodGroup& group : groups) {
      if (!group.status.gangs.empty() && group.status.gangs[0].planned) {
        names.push_back(group.meta.name);
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::vector<placement::NodeView> nodes{view(a_node("n1", 8))};
  std::vector<queue::Workload> orphaned;
  bool is_namespace_seen = true;
  std::vector<queue::Report> reports;  // of the last cycle
  std::size_t planned = 0;             // gangs, in the last cycle
  queue::SettledWorkloads settled;
  std::vector<gang::PodGroup> groups;
  CycleState state;
  SysTime now{std::chrono::seconds(1000)};
};
using Jobs = std::vector<std::string>;

TEST_CASE("a queue within its quota is served first, and what is left is shared",
          "[extender][start_waiting]") {
  Teams world({open_to_all(with_quota(a_queue("vision"), 4)), open_to_all(a_queue("speech"))});
  for (int i = 0; i < 8; ++i) world.add("s" + std::to_string(i), "speech", 1, i);
  for (int i = 0; i < 8; ++i) world.add("v" + std::to_string(i), "vision", 1, 100 + i);
  world.cycle();
  CHECK(world.placed() == Jobs{"s0", "s1", "v0", "v1", "v2", "v3", "v4", "v5"});
}

TEST_CASE("queues beyond quota share by weight", "[extender][start_waiting]") {
  Teams world({open_to_all(with_weight(a_queue("vision"), 3)), open_to_all(a_queue("speech"))});
  for (int i = 0; i < 8; ++i) world.add("s" + std::to_string(i), "speech", 1, i);
  for (int i = 0; i < 8; ++i) world.add("v" + std::to_string(i), "vision", 1, 100 + i);
  world.cycle();
  CHECK(world.placed() == Jobs{"s0", "s1", "v0", "v1", "v2", "v3", "v4", "v5"});
}

TEST_CASE("what runs counts for its queue", "[extender][start_waiting]") {
  Teams world({open_to_all(with_limit(a_queue("vision"), 3))});
  world.add("a", "vision", 2);
  world.cycle();
  world.base("a").committed = true;
  world.add("b", "vision", 2);
  SECTION("if nothing is left to decide about it") {}
  SECTION("if it still asks for more") {
    world.get("a").spec.gangs.push_back(
        testing::make_gangs({in_request(a_set("collector", 1, ask(9)), 1)}).at(0));
  }
  SECTION("if it is only planned") { world.base("a").committed = false; }
  world.cycle();
  CHECK(world.base("b").reason == "LimitExceeded");
  CHECK(world.base("b").message ==
        "the limit of queue vision is nvidia.com/gpu 3: 2 are used, 2 are needed");
}

// A leader has ended when the plan of one was stored, and that the other gave way was not; or the
// other was committed at that moment.
TEST_CASE("of two plans beyond a limit one yields", "[extender][start_waiting]") {
  const bool has_classes = GENERATE(false, true);
  const int limit = GENERATE(3, 4);
  const bool is_later_committed = GENERATE(false, true);
  Teams world({open_to_all(a_queue("vision"))});
  world.nodes = {view(testing::labelled(a_node("n1", 8), "model", "h100"))};
  world.add("earlier", "vision", 2);
  world.add("later", "vision", 2, 1);
  world.cycle();
  REQUIRE((world.base("earlier").planned && world.base("later").planned));
  world.base("later").committed = is_later_committed;
  const Queue limited = has_classes ? with_limit(a_queue("vision"), {{"h100", limit}})
                                    : with_limit(a_queue("vision"), limit);
  world.set_queues({open_to_all(limited)});
  world.cycle();
  const bool is_too_much = limit < 4;
  CHECK(world.base("earlier").planned == (!is_too_much || !is_later_committed));
  CHECK(world.base("later").planned == (!is_too_much || is_later_committed));
}

// Otherwise a tenant could end the plans of others with pods that no limit stops.
TEST_CASE("pods that no limit stops drop no plan", "[extender][start_waiting]") {
  Teams world({open_to_all(with_limit(a_queue("vision"), 3))});
  world.add("a", "vision", 2);
  world.cycle();
  REQUIRE(world.base("a").planned);
  queue::Workload pods;
  pods.id = "rl/uid-gone";
  pods.ns = "rl";
  pods.queue = "vision";
  pods.requests.set("nvidia.com/gpu", 2);
  world.orphaned = {pods};
  world.cycle();
  CHECK(world.base("a").planned);
  world.add("b", "vision", 1, 1);
  world.cycle();
  CHECK(world.base("b").reason == "LimitExceeded");
}

TEST_CASE("of two requests of a job beyond a limit the earlier one stays",
          "[extender][start_waiting]") {
  Teams world({open_to_all(a_queue("vision"))});
  world.add("a", "vision", 1);
  world.cycle();
  world.base("a").committed = true;
  for (const int number : {1, 2}) {
    testing::Member request =
        in_request(a_set("collector-" + std::to_string(number), 1, ask(1)), number);
    request.gang.queued_since = SysTime(std::chrono::seconds(100 + number));
    testing::add_member(world.get("a"), std::move(request));
  }
  world.cycle();
  const auto& gangs = world.get("a").status.gangs;
  REQUIRE(gangs.size() == 3);
  REQUIRE((gangs[1].planned && gangs[2].planned));
  world.set_queues({open_to_all(with_limit(a_queue("vision"), 2))});
  world.cycle();
  CHECK(world.get("a").status.gangs[1].planned);
  CHECK_FALSE(world.get("a").status.gangs[2].planned);
}

TEST_CASE("a gang that may not start says which rule keeps it from starting",
          "[extender][start_waiting]") {
  struct Row {
    std::string when;
    std::vector<Queue> queues;
    std::string wanted;
    std::string reason;
    std::string message;
  };
  const auto row = GENERATE(values<Row>({
      {"its queue is stopped",
       {stopped(open_to_all(a_queue("vision")))},
       "vision",
       "QueueStopped",
       "queue vision is stopped"},
      {"its queue does not exist",
       {open_to_all(a_queue("vision"))},
       "speech",
       "QueueNotFound",
       "queue speech does not exist"},
      {"its queue is not for its namespace",
       {a_queue("vision")},
       "vision",
       "NamespaceNotSelected",
       "queue vision does not allow namespace rl (namespaceSelector)"},
      {"its queue's limit is smaller than the gang",
       {open_to_all(with_limit(a_queue("vision"), 1))},
       "vision",
       "LimitExceeded",
       "nvidia.com/gpu 2 are needed, more than the limit of queue vision, 1"},
  }));
  INFO("when " << row.when);
  Teams world(row.queues);
  world.add("a", row.wanted, 2);
  world.cycle();
  CHECK(world.placed().empty());
  CHECK(world.base("a").reason == row.reason);
  CHECK(world.base("a").message == row.message);
  CHECK(world.cycle() == 0);
  world.set_queues({open_to_all(a_queue("vision")), open_to_all(a_queue("speech"))});
  world.cycle();
  CHECK(world.placed() == Jobs{"a"});
}

TEST_CASE("a job waits until the labels of its namespace are known", "[extender][start_waiting]") {
  Teams world({open_to_all(a_queue("vision"))});
  world.is_namespace_seen = false;
  world.add("a", "", 1);
  world.cycle();
  CHECK(world.base("a").reason == "NamespaceNotSeen");
  world.is_namespace_seen = true;
  world.cycle();
  CHECK(world.placed() == Jobs{"a"});
}

TEST_CASE("without queues a job that names one waits, and others start",
          "[extender][start_waiting]") {
  Teams world({});
  world.add("a", "vision", 1);
  world.add("b", "", 1);
  world.cycle();
  CHECK(world.placed() == Jobs{"b"});
  CHECK(world.base("a").reason == "QueueNotFound");
}

TEST_CASE("a job stays in the queue in which it got its nodes", "[extender][start_waiting]") {
  Queue vision = open_to_all(with_limit(a_queue("vision"), 4));
  vision.max_runtime_seconds = 3'600;
  Teams world({vision, open_to_all(a_queue("speech"))});
  world.add("a", "vision", 2);
  world.cycle();
  CHECK(world.get("a").status.queue == gang::QueuePlace{"vision", 0, 3'600});
  world.base("a").committed = true;
  world.get("a").spec.queue = "speech";
  world.get("a").spec.gangs.push_back(
      testing::make_gangs({in_request(a_set("collector", 1, ask(3)), 1)}).at(0));
  world.cycle();
  CHECK(world.get("a").status.queue.name == "vision");
  CHECK(world.get("a").status.gangs.at(1).reason == "LimitExceeded");
  SECTION("and a request waits if that queue was deleted") {
    world.set_queues({open_to_all(a_queue("speech"))});
    world.cycle();
    CHECK(world.get("a").status.gangs.at(1).reason == "QueueNotFound");
  }
}

TEST_CASE("a request takes from a limit what it needs beyond its reserved capacity",
          "[extender][start_waiting]") {
  Teams world({open_to_all(with_limit(a_queue("vision"), 6))});
  gang::MemberSet learner = a_set("learner", 1, ask(1));
  gang::MemberSet collector = a_set("collector", 0, ask(1));
  collector.reserved_pods = 2;
  gang::PodGroup group = a_group("a", {learner, collector});
  group.spec.queue = "vision";
  world.groups.push_back(group);
  world.cycle();
  world.base("a").committed = true;
  CHECK(world.base("a").reserved.at(0).count == 2);
  // The controller moves the reserved pods to the request.
  const auto request = [&](int pods) {
    gang::PodGroup& job = world.get("a");
    job.spec.gangs[0].members[1].reserved_pods = 0;
    gang::MemberSet set = a_set("collector", pods, ask(1));
    set.name = "request";
    set.from_reserved = {"collector", 2};
    job.spec.gangs.push_back(testing::make_gangs({in_request(set, 1)}).at(0));
    ++job.meta.generation;
  };
  SECTION("it fits the limit: 1 runs, 5 are requested") {
    request(5);
    world.cycle();
    CHECK(world.get("a").status.gangs.at(1).planned);
  }
  SECTION("it does not: 1 runs, 6 are requested") {
    request(6);
    world.cycle();
    CHECK(world.get("a").status.gangs.at(1).reason == "LimitExceeded");
    CHECK(world.get("a").status.gangs.at(1).message ==
          "the limit of queue vision is nvidia.com/gpu 6: 3 are used, 4 are needed");
  }
  SECTION("what is reserved counts while the request waits") {
    request(6);
    world.add("b", "vision", 4, 50);
    world.cycle();
    CHECK(world.base("b").reason == "LimitExceeded");
  }
  SECTION("a request within what is reserved needs nothing of a limit that was lowered") {
    world.set_queues({open_to_all(with_limit(a_queue("vision"), 1))});
    request(2);
    world.cycle();
    CHECK(world.get("a").status.gangs.at(1).planned);
  }
  SECTION("a queue that is held lets a running job use what it has reserved") {
    world.set_queues({stopped(open_to_all(a_queue("vision")))});
    request(2);
    world.cycle();
    CHECK(world.get("a").status.gangs.at(1).planned);
  }
  SECTION("a queue that is held gives a running job nothing beyond what it has reserved") {
    world.set_queues({stopped(open_to_all(a_queue("vision")))});
    request(3);
    world.cycle();
    CHECK(world.get("a").status.gangs.at(1).reason == "QueueStopped");
  }
}

TEST_CASE("a waiting job moves with its queue's name", "[extender][start_waiting]") {
  Teams world({stopped(open_to_all(a_queue("vision"))), stopped(open_to_all(a_queue("speech")))});
  world.add("a", "vision", 2);
  world.cycle();
  CHECK(world.get("a").status.queue.name == "vision");
  world.get("a").spec.queue = "speech";
  world.cycle();
  CHECK(world.get("a").status.queue.name == "speech");
}

// A job runs in queue "vision", and another one is planned.
struct RunningAndPlanned : Teams {
  RunningAndPlanned() : Teams({open_to_all(a_queue("vision"))}) {
    add("runs", "vision", 2);
    add("planned", "vision", 2, 1);
    cycle();
    base("runs").committed = true;
  }
};

TEST_CASE("a drained queue releases what runs and drops what is planned",
          "[extender][start_waiting]") {
  RunningAndPlanned world;
  world.set_queues({stopped(open_to_all(a_queue("vision")), Queue::Stop::kHoldAndDrain)});
  world.cycle();
  CHECK(world.base("runs").reason == gang::kReasonQueueDrained);
  CHECK(gang::is_released(world.base("runs")));
  CHECK(world.base("runs").placements.size() == 1);  // its pods still use it
  CHECK(world.base("planned").reason == "QueueStopped");
  CHECK(world.base("planned").placements.empty());
  CHECK(world.cycle() == 0);
  SECTION("until the queue goes on") {
    world.set_queues({open_to_all(a_queue("vision"))});
    world.cycle();
    CHECK(world.base("runs").reason == gang::kReasonPlanned);
    CHECK(world.placed() == Jobs{"planned", "runs"});
  }
}

TEST_CASE("a job that has only a plan does not start in a queue that is held since",
          "[extender][start_waiting]") {
  RunningAndPlanned world;
  world.set_queues({stopped(open_to_all(a_queue("vision")))});
  world.cycle();
  CHECK(world.base("runs").reason == gang::kReasonPlanned);
  CHECK(world.base("planned").reason == "QueueStopped");
  CHECK(world.base("planned").placements.empty());
  CHECK(world.cycle() == 0);
}

placement::NodeView of_model(const std::string& name, const std::string& model) {
  return view(testing::labelled(a_node(name, 8), "model", model));
}

TEST_CASE("a limit of a node class keeps gangs off its nodes", "[extender][start_waiting]") {
  Teams world({open_to_all(with_limit(a_queue("vision"), {{"a100", 6}}))});
  world.nodes = {of_model("n1", "a100"), of_model("n2", "h100")};
  world.add("a", "vision", 4, 0);
  world.add("b", "vision", 4, 1);
  world.add("c", "vision", 4, 2);
  world.add("d", "vision", 4, 3);
  world.cycle();
  CHECK(world.placed().size() == 3);  // 4 on n1, 8 on n2
  CHECK(world.base("d").reason == "NodeClassLimit");
  CHECK(world.base("d").message ==
        "it does not fit the nodes that queue vision may still use: of nvidia.com/gpu its limits "
        "leave 2 on a100");
  SECTION("and what uses them counts while it runs") {
    for (const std::string& name : world.placed()) world.base(name).committed = true;
    CHECK(world.cycle() == 0);
    world.add("e", "vision", 2, 4);
    world.cycle();
    CHECK(world.base("e").placements.at(0).node == "n1");
    world.add("f", "vision", 1, 5);
    world.cycle();
    CHECK(world.base("f").reason == "NodeClassLimit");
  }
  SECTION("and a full cluster is another reason") {
    world.add("full", "", 2, 4);
    world.add("more", "", 2, 5);
    world.cycle();
    CHECK(world.base("d").reason == "Unschedulable");
  }
}

TEST_CASE("equal gangs that a limit of a node class holds are planned once",
          "[extender][start_waiting]") {
  Teams world({open_to_all(with_limit(a_queue("speech"), {{"a100", 2}})),
               open_to_all(with_limit(a_queue("vision"), {{"a100", 6}}))});
  world.nodes = {of_model("n1", "a100")};
  for (int i = 0; i < 50; ++i) world.add("v" + std::to_string(i), "vision", 4, i);
  for (int i = 0; i < 50; ++i) world.add("s" + std::to_string(i), "speech", 4, 100 + i);
  world.cycle();
  CHECK(world.placed() == Jobs{"v0"});
  CHECK(world.planned <= 5);  // once for each queue, and again after the start of v0
  const std::string left = " may still use: of nvidia.com/gpu its limits leave 2 on a100";
  for (int i = 1; i < 50; ++i) {
    const std::string n = std::to_string(i);
    CHECK(world.base("v" + n).message == "it does not fit the nodes that queue vision" + left);
    CHECK(world.base("s" + n).message == "it does not fit the nodes that queue speech" + left);
  }
}

TEST_CASE("a quota of a node class is used before others get its nodes",
          "[extender][start_waiting]") {
  Teams world(
      {open_to_all(with_quota(a_queue("vision"), {{"h100", 8}})), open_to_all(a_queue("speech"))});
  world.nodes = {of_model("n1", "a100"), of_model("n2", "h100")};
  world.add("s", "speech", 8, 0);
  world.add("v", "vision", 8, 1);
  world.cycle();
  CHECK(world.base("v").placements.at(0).node == "n2");
  CHECK(world.base("s").placements.at(0).node == "n1");
}

TEST_CASE("a limit of a node class puts no queue within its quota on those nodes",
          "[extender][start_waiting]") {
  Queue vision = with_quota(open_to_all(a_queue("vision")), {{"h100", 8}});
  Teams world({with_limit(vision, {{"a100", 16}}), open_to_all(a_queue("speech"))});
  world.nodes = {of_model("n1", "a100")};
  for (int i = 0; i < 8; ++i) world.add("s" + std::to_string(i), "speech", 1, i);
  for (int i = 0; i < 8; ++i) world.add("v" + std::to_string(i), "vision", 1, 100 + i);
  world.cycle();
  CHECK(world.placed() == Jobs{"s0", "s1", "s2", "s3", "v0", "v1", "v2", "v3"});
}

TEST_CASE("queues are reported once a minute, and at once after they changed",
          "[extender][start_waiting]") {
  Teams world({open_to_all(a_queue("vision"))});
  const auto reports_after = [&](int later) {
    world.now += std::chrono::seconds(later);
    world.cycle();
    return world.reports.size();
  };
  CHECK(reports_after(0) == 1);
  world.add("a", "vision", 1);
  CHECK(reports_after(10) == 0);
  CHECK(reports_after(50) == 1);
  CHECK(world.reports.at(0).running == 1);
  world.set_queues({open_to_all(a_queue("vision")), open_to_all(a_queue("speech"))});
  CHECK(reports_after(1) == 2);
  CHECK(reports_after(1) == 0);
}

TEST_CASE("a report says since when a queue has its head", "[extender][start_waiting]") {
  Teams world({open_to_all(a_queue("vision"))});
  world.add("runs", "vision", 8, -1);
  world.cycle();
  world.base("runs").committed = true;
  world.add("a", "vision", 8, 10);
  const auto head_after = [&](int more) {
    world.now += std::chrono::seconds(more);
    world.cycle();
    REQUIRE(world.reports.at(0).head);
    return *world.reports.at(0).head;
  };
  const SysTime since = head_after(60).is_head_since;
  CHECK(since == world.now);
  CHECK(head_after(60).is_head_since == since);
  world.add("older", "vision", 8, 5);
  CHECK(head_after(60).is_head_since == world.now);
}

TEST_CASE("where a thousand gangs wait, few statuses a minute are written",
          "[extender][start_waiting]") {
  std::vector<Queue> queues;
  for (int i = 0; i < 10; ++i) queues.push_back(open_to_all(a_queue("q" + std::to_string(i))));
  Teams world(queues);
  world.add("runs", "q0", 8, -1);
  world.cycle();
  world.base("runs").committed = true;
  for (int i = 0; i < 1'000; ++i) {
    world.add("j" + std::to_string(i), "q" + std::to_string(i % 10), 8, i);
  }
  world.cycle();
  for (int minute = 0; minute < 45; ++minute) {
    std::size_t writes = 0;
    for (int i = 0; i < 3; ++i) {
      // One more node that is full, so that the numbers of all messages change.
      const std::string name = "full-" + std::to_string(minute) + "-" + std::to_string(i);
      world.nodes.push_back({std::make_shared<const kube::Node>(a_node(name, 8)), {}});
      world.now += std::chrono::seconds(20);
      writes += world.cycle();
    }
    INFO("minute " << minute);
    CHECK(writes <= 90);  // on average 50: turns are not spread evenly
  }
}

TEST_CASE("a gang that waits says its position, but not with every start",
          "[extender][start_waiting]") {
  Teams world({open_to_all(a_queue("vision"))});
  for (int i = 0; i < 7; ++i) world.add("j" + std::to_string(i), "vision", 8, i);
  world.cycle();
  const auto position = [&](std::size_t i) { return world.groups.at(i).status.queue.position; };
  CHECK(std::vector{position(0), position(1), position(4), position(6)} == std::vector{0, 1, 3, 5});
  world.groups.erase(world.groups.begin());
  CHECK(world.cycle() == 1);  // the one that starts
  CHECK(position(1) == 2);
  world.now += std::chrono::seconds(61);
  world.cycle();
  CHECK(position(1) == 1);
  CHECK(position(5) == 5);
}

}  // namespace
}  // namespace nervex::planner
