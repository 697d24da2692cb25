// Limits of node classes for placements that are not starts: healing, moves, restored capacity.
#include "planner/steps/heal.h"

#include <catch2/catch_test_macros.hpp>

#include "planner/scheduling_cycle.h"
#include "tests/planner/stored_cluster.h"

namespace nervex::planner::class_limits_test {
namespace {

using testing::a_group;
using testing::a_node;
using testing::a_queue;
using testing::a_set;
using testing::ask;
using testing::for_all;
using testing::nth_set;
using testing::planned;
using testing::with_limit;

using Nodes = std::vector<std::string>;

placement::NodeView of_class(const std::string& name, const char* node_class, int gpus = 8) {
  return testing::view(testing::labelled(a_node(name, gpus), "class", node_class));
}

// The fast nodes fit best: less is left of them.
struct Limits : testing::StoredCluster {
  explicit Limits(std::int64_t fast) {
    queues = {for_all(with_limit(a_queue("vision"), {{"fast", fast}}))};
    nodes = {of_class("fast-1", "fast"), of_class("fast-2", "fast", 4)};
    set_tree();
  }
  // Learners of 4 GPUs on these nodes; capacity for as many more is reserved on the others.
  gang::PodGroup& add_running(const std::string& name, const Nodes& on,
                              const Nodes& reserved = {}) {
    auto set = a_set("learner", static_cast<int>(on.size()), ask(4));
    set.reserved_pods = static_cast<int>(reserved.size());
    gang::PodGroup group = planned(a_group(name, {set}, ++added), on, true);
    group.spec.queue = group.status.queue.name = "vision";
    for (const std::string& node : reserved) {
      group.status.gangs[0].reserved.push_back({"learner", node, 1});
    }
    return groups.emplace_back(std::move(group));
  }
  // The controller wants its next incarnation.
  void lose(const std::string& name, std::size_t slot) {
    ++nth_set(get(name), 0).slots.at(slot).incarnation;
    ++get(name).meta.generation;
  }
  void refuse(const std::string& name, std::size_t slot) {
    refused[name] = {get(name).status.gangs[0].placements.at(slot), OpenSlot::Why::kRefused,
                     "node(s) had no ports", now - std::chrono::hours(1)};
  }
  void cycle() {
    Snapshot seen = snapshot();
    for (GroupSeen& group : seen.groups) {
      if (!home.empty()) set_home(group);
      const auto open = refused.find(group.group->meta.name);
      if (open != refused.end()) group.open = {open->second};
    }
    CycleResult result = run_cycle(seen, std::move(state), now);
    state = std::move(result.state);
    for (const StatusWrite& write : result.writes)
      get(write.group->meta.name).status = write.status;
    refused.clear();
    now += std::chrono::seconds(1);
  }
  const gang::GangStatus& base(const std::string& name) { return get(name).status.gangs.at(0); }
  Nodes on(const std::string& name) {
    Nodes names;
    for (const gang::Placement& placement : base(name).placements) names.push_back(placement.node);
    return names;
  }
  Nodes reserved(const std::string& name) {
    Nodes names;
    for (const gang::ReservedCapacity& one : base(name).reserved) names.push_back(one.node);
    return names;
  }

  // As if its own queue did not exist.
  void set_home(GroupSeen& group) const {
    std::vector<queue::Workload> workloads;
    for (std::size_t i = 0; i < group.group->status.gangs.size(); ++i) {
      workloads.push_back(group.make_workload(i));
      workloads.back().queue = home;
    }
    group.workloads = std::make_shared<const std::vector<queue::Workload>>(std::move(workloads));
  }

  std::map<std::string, OpenSlot> refused;
  std::string home;  // queue of all jobs. "": their own
  CycleState state;
  SysTime now{std::chrono::seconds(10'000)};
  int added = 0;
};

TEST_CASE("a lost pod goes to no class that is at its limit", "[extender][class_limits]") {
  Limits world(4);
  world.nodes.push_back(of_class("slow", "slow"));
  world.add_running("job", {"fast-1", "gone"});
  world.lose("job", 1);
  world.cycle();
  CHECK(world.on("job") == Nodes{"fast-1", "slow"});
}

TEST_CASE("a pod that heals waits with the limit as reason if no allowed node is free",
          "[extender][class_limits]") {
  Limits world(4);
  world.add_running("job", {"fast-1", "gone"});
  world.lose("job", 1);
  for (int i = 0; i < 2; ++i) world.cycle();
  CHECK(world.on("job") == Nodes{"fast-1"});
  CHECK(world.base("job").reason == "NodeClassLimit");
  CHECK(world.base("job").message.find("of nvidia.com/gpu its limits leave 0 on fast") !=
        std::string::npos);
  CHECK(world.base("job").committed);
  CHECK(world.base("job").healing_since);
  SECTION("until one is") { world.nodes.push_back(of_class("slow", "slow")); }
  SECTION("or the limit is raised") {
    world.queues[0] = for_all(with_limit(a_queue("vision"), {{"fast", 8}}));
    world.set_tree();
  }
  world.cycle();
  CHECK(world.on("job").size() == 2);
  CHECK(world.base("job").planned);
}

TEST_CASE("a lost pod of a job whose queue was deleted keeps the class limit of the former parent",
          "[extender][class_limits]") {
  Limits world(4);
  world.add_running("job", {"fast-1", "gone"});
  world.lose("job", 1);
  world.queues = {with_limit(a_queue("all"), {{"fast", 4}})};
  world.home = "all";
  world.set_tree();
  world.nodes.push_back(of_class("slow", "slow"));
  world.cycle();
  CHECK(world.on("job") == Nodes{"fast-1", "slow"});
}

TEST_CASE("a lost pod may have its part of a class limit again", "[extender][class_limits]") {
  Limits world(8);
  world.add_running("job", {"fast-1", "gone"});
  world.add_running("other", {"fast-1"});
  world.lose("job", 1);
  world.cycle();
  CHECK(world.on("job") == Nodes{"fast-1"});
  world.groups.pop_back();
  world.cycle();
  CHECK(world.on("job").size() == 2);
}

TEST_CASE("pods that heal in one cycle share what a class limit leaves",
          "[extender][class_limits]") {
  Limits world(8);
  world.nodes = {of_class("fast-1", "fast"), of_class("fast-2", "fast"),
                 of_class("slow", "slow", 16)};
  world.add_running("a", {"fast-1", "gone"});
  world.add_running("b", {"slow", "gone"});
  world.lose("a", 1);
  world.lose("b", 1);
  world.cycle();
  CHECK(world.on("a") == Nodes{"fast-1", "fast-1"});
  CHECK(world.on("b") == Nodes{"slow", "slow"});
}

TEST_CASE("a pod that kube-scheduler refuses moves to no class that is at its limit",
          "[extender][class_limits]") {
  Limits world(4);
  world.nodes.push_back(of_class("slow-1", "slow"));
  world.add_running("job", {"fast-1", "slow-1"});
  world.refuse("job", 1);
  SECTION("it stays if there is no other node") {
    world.cycle();
    CHECK(world.on("job") == Nodes{"fast-1", "slow-1"});
  }
  SECTION("it moves to an allowed one") {
    world.nodes.push_back(of_class("slow-2", "slow"));
    world.cycle();
    CHECK(world.on("job") == Nodes{"fast-1", "slow-2"});
  }
}

TEST_CASE("a pod that kube-scheduler refuses moves within a class that is at its limit",
          "[extender][class_limits]") {
  Limits world(4);
  world.add_running("job", {"fast-1"});
  world.refuse("job", 0);
  world.cycle();
  CHECK(world.on("job") == Nodes{"fast-2"});
}

TEST_CASE("lost reserved capacity is restored on no class that is at its limit",
          "[extender][class_limits]") {
  Limits world(4);
  world.add_running("job", {"fast-1"}, {"gone"});
  world.cycle();
  CHECK(world.reserved("job").empty());
  world.nodes.push_back(of_class("slow", "slow"));
  world.cycle();
  CHECK(world.reserved("job") == Nodes{"slow"});
}

TEST_CASE("jobs that restore capacity in one cycle share what a class limit leaves",
          "[extender][class_limits]") {
  Limits world(12);
  world.nodes = {of_class("fast-1", "fast"), of_class("fast-2", "fast")};
  world.add_running("a", {"fast-1"}, {"gone"});
  world.add_running("b", {"fast-1"}, {"gone"});
  world.cycle();
  CHECK(world.reserved("a").size() + world.reserved("b").size() == 1);
}

TEST_CASE("a lost pod takes the job's own reserved capacity of a class that is at its limit",
          "[extender][class_limits]") {
  Limits world(8);
  world.nodes = {of_class("fast-1", "fast"), of_class("fast-2", "fast")};
  world.add_running("job", {"fast-1", "gone"}, {"fast-1"});
  world.lose("job", 1);
  world.cycle();
  CHECK(world.on("job").size() == 2);
  CHECK(world.reserved("job").empty());
  for (int i = 0; i < 2; ++i) world.cycle();
  CHECK(world.reserved("job").empty());
}

TEST_CASE("what a job has reserved on a class keeps others below the limit while it is taken over",
          "[extender][class_limits]") {
  Limits world(8);
  world.nodes = {of_class("fast-1", "fast", 16)};
  gang::PodGroup& job = world.add_running("job", {"fast-1"}, {"fast-1"});
  // The request needs more than what was reserved.
  auto asked = testing::in_request(a_set("learner", 2, ask(4)), 1);
  for (auto& slot : asked.slots) slot.ordinal += 4096;
  asked.from_reserved = {"learner", 1};
  nth_set(job, 0).reserved_pods = 0;
  add_member(job, asked);
  ++job.meta.generation;
  gang::PodGroup other = a_group("other", {a_set("learner", 1, ask(4))}, 100);
  other.spec.queue = "vision";
  world.groups.push_back(other);
  world.cycle();
  CHECK_FALSE(world.base("other").planned);
  CHECK(world.base("other").reason == "NodeClassLimit");
}

}  // namespace
}  // namespace nervex::planner::class_limits_test
