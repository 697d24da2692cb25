// Rules of queues for gangs of other operators.
#include "planner/foreign/foreign_plan.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "planner/scheduling_cycle.h"
#include "tests/planner/stored_cluster.h"

namespace nervex::planner::foreign_limits_test {
namespace {

using queue::Queue;
using testing::a_node;
using testing::a_queue;
using testing::ask;
using testing::for_all;
using testing::with_limit;

// The namespace's queue is vision. Pods are bound where they are nominated.
struct Foreign : testing::StoredCluster {
  explicit Foreign(Queue vision) { set_queue(std::move(vision)); }
  void set_queue(Queue vision) {
    queues = {for_all(std::move(vision))};
    set_tree();
  }
  void add_group(int min_member) {
    kube::ForeignPodGroup group;
    group.meta.ns = "rl";
    group.meta.name = group.meta.uid = "train";
    group.min_member = min_member;
    seen.group = std::make_shared<const kube::ForeignPodGroup>(group);
  }
  void add_pods(int count, int gpus = 1, const char* node_class = nullptr) {
    for (int i = 0; i < count; ++i) {
      kube::Pod pod;
      pod.meta.ns = "rl";
      pod.meta.name = pod.meta.uid = "train-" + std::to_string(++pods);
      pod.meta.resource_version = "1";
      pod.requests = ask(gpus);
      kube::PodSpecDetail detail;
      kube::NodeConstraints constraints;
      if (node_class != nullptr) constraints.node_selector["class"] = node_class;
      detail.constraints = constraints;
      pod.detail = kube::Shared<kube::PodSpecDetail>(detail);
      seen.pending.push_back({std::make_shared<const kube::Pod>(pod)});
      ++seen.counts.pending;
    }
  }
  // One of the bound pods ends, and its operator creates another one, which may be larger.
  void lose(const std::string& node, int gpus = 1, std::optional<int> of_successor = {}) {
    note_whole();
    --seen.counts.bound;
    seen.bound_requests -= ask(gpus);
    seen.used_on[node] -= ask(gpus);
    add_pods(1, of_successor.value_or(gpus));
  }
  // Remembers the gang as ForeignGangs does.
  void note_whole() {
    if (seen.counts.bound == 0 || seen.counts.needed(seen.group->min_member) > 0) return;
    seen.whole_with = seen.group->min_member;
    whole_requests = seen.bound_requests;
  }
  void cycle() {
    Snapshot now_seen = snapshot();
    for (const auto& [node, requests] : seen.used_on) {
      const auto at = now_seen.nodes.find(node);
      now_seen.nodes.take(*at, requests);
    }
    note_whole();
    seen.lost_requests = whole_requests;
    seen.lost_requests -= seen.bound_requests;
    now_seen.foreign = {seen};
    CycleResult result = run_cycle(now_seen, std::move(state), now);
    state = std::move(result.state);
    for (const StatusWrite& write : result.writes)
      get(write.group->meta.name).status = write.status;
    reports = std::move(result.queues);
    wait = result.foreign.at(0).wait;
    for (const NominationWrite& write : result.foreign.at(0).nominations) {
      std::erase_if(seen.pending, [&](const ForeignPod& one) { return one.pod == write.pod; });
      --seen.counts.pending;
      ++seen.counts.bound;
      seen.bound_requests += write.pod->requests;
      seen.used_on[write.node] += write.pod->requests;
    }
    now += std::chrono::seconds(61);
  }
  std::string why() const { return wait ? explain(*wait) : ""; }
  std::int64_t bound() const { return seen.counts.bound; }

  ForeignGangSeen seen;
  kube::Resources whole_requests;
  int pods = 0;
  std::optional<ForeignWait> wait;
  std::vector<queue::Report> reports;
  CycleState state;
  SysTime now{std::chrono::seconds(10'000)};
};

struct FullNodes : Foreign {
  explicit FullNodes(Queue vision) : Foreign(std::move(vision)) {
    nodes = {testing::view(a_node("n1", 64))};
  }
};

TEST_CASE("pods that a foreign gang does not need start one by one, up to the queue's limit",
          "[extender][foreign][limits]") {
  const int min_member = GENERATE(0, 1, 2, 3);
  INFO("minMember " << min_member);
  FullNodes world(with_limit(a_queue("vision"), 3));
  world.add_group(min_member);
  world.add_pods(20);
  for (int i = 0; i < 3; ++i) world.cycle();
  CHECK(world.bound() == 3);
  CHECK(world.why() == "the limit of queue vision is nvidia.com/gpu 3: 3 are used, 1 are needed");
  CHECK(world.reports.at(0).pending == 1);
  world.set_queue(with_limit(a_queue("vision"), 5));
  world.cycle();
  CHECK(world.bound() == 5);
}

TEST_CASE("a foreign gang whose quorum exceeds the limit starts none of its pods",
          "[extender][foreign][limits]") {
  FullNodes world(with_limit(a_queue("vision"), 3));
  world.add_group(4);
  world.add_pods(20);
  world.cycle();
  CHECK(world.bound() == 0);
  CHECK(world.why() == "nvidia.com/gpu 4 are needed, more than the limit of queue vision, 3");
}

TEST_CASE("one lost pod of a foreign gang brings no more pods than it lacks",
          "[extender][foreign][limits]") {
  FullNodes world(with_limit(a_queue("vision"), 3));
  world.add_group(3);
  world.add_pods(20);
  for (int i = 0; i < 2; ++i) world.cycle();
  REQUIRE(world.bound() == 3);
  world.lose("n1");
  SECTION("below the limit") {
    world.cycle();
    CHECK(world.bound() == 3);
  }
  SECTION("in a queue that is stopped") {
    Queue stopped = with_limit(a_queue("vision"), 30);
    stopped.stop = Queue::Stop::kHold;
    world.set_queue(stopped);
    for (int i = 0; i < 2; ++i) world.cycle();
    CHECK(world.bound() == 3);
    CHECK(world.why().find("stop") != std::string::npos);
  }
  SECTION("at a limit that was lowered") {
    world.set_queue(with_limit(a_queue("vision"), 2));
    world.cycle();
    CHECK(world.bound() == 2);
    CHECK(world.why() == "the limit of queue vision is nvidia.com/gpu 2: 2 are used, 1 are needed");
  }
  SECTION("before what waits with a higher priority, which comes before the rest") {
    world.set_queue(with_limit(a_queue("vision"), 6));
    gang::PodGroup high = testing::a_group("high", {testing::a_set("learner", 1, ask(3))}, 0, 9);
    high.spec.queue = "vision";
    world.groups.push_back(high);
    world.cycle();
    CHECK(world.bound() == 3);
    CHECK(world.get("high").status.gangs.at(0).planned);
  }
}

TEST_CASE("a successor that is larger than the lost pod of a foreign gang waits for its turn",
          "[extender][foreign][limits][marks]") {
  struct Row {
    std::string when;
    std::vector<int> successors;  // their GPUs
    std::int64_t want_bound;
  };
  const auto row = GENERATE(values<Row>({{"it is as large", {2}, 3},
                                         {"it is smaller", {1}, 3},
                                         {"it is larger", {3}, 2},
                                         {"one is larger, one is not", {3, 2}, 3}}));
  INFO("when " << row.when);
  FullNodes world(with_limit(a_queue("vision"), 30));
  world.add_group(3);
  world.add_pods(3, 2);
  for (int i = 0; i < 2; ++i) world.cycle();
  REQUIRE(world.bound() == 3);
  Queue stopped = with_limit(a_queue("vision"), 30);
  stopped.stop = Queue::Stop::kHold;
  world.set_queue(stopped);
  world.lose("n1", 2, row.successors.front());
  for (std::size_t i = 1; i < row.successors.size(); ++i) world.add_pods(1, row.successors[i]);
  for (int i = 0; i < 2; ++i) world.cycle();
  CHECK(world.bound() == row.want_bound);
  stopped.stop = Queue::Stop::kNone;
  world.set_queue(stopped);
  world.cycle();
  CHECK(world.bound() == static_cast<std::int64_t>(2 + row.successors.size()));
}

TEST_CASE("pods of a foreign gang are kept off classes at their limit, one by one",
          "[extender][foreign][limits]") {
  Foreign world(with_limit(a_queue("vision"), {{"fast", 2}}));
  world.nodes = {testing::node_of_class("n1", "fast"), testing::node_of_class("n2", "slow")};
  world.add_group(1);
  world.add_pods(20);
  for (int i = 0; i < 3; ++i) world.cycle();
  CHECK(world.seen.used_on["n1"].get("nvidia.com/gpu") == 2);
  CHECK(world.seen.used_on["n2"].get("nvidia.com/gpu") == 8);
  CHECK(world.why() ==
        "it does not fit the nodes that queue vision may still use: of nvidia.com/gpu its limits "
        "leave 0 on fast");
}

TEST_CASE("a lost pod of a foreign gang goes to no class that is at its limit",
          "[extender][foreign][limits]") {
  Foreign world(with_limit(a_queue("vision"), {{"fast", 8}}));
  world.nodes = {testing::node_of_class("n1", "fast"), testing::node_of_class("n2", "slow")};
  world.add_group(2);
  world.add_pods(2, 4);
  world.cycle();
  REQUIRE(world.bound() == 2);
  world.set_queue(with_limit(a_queue("vision"), {{"fast", 4}}));
  world.lose("n1", 4);
  world.cycle();
  CHECK(world.bound() == 2);
  CHECK(world.seen.used_on["n2"].get("nvidia.com/gpu") == 4);
}

}  // namespace
}  // namespace nervex::planner::foreign_limits_test
