#include "planner/simulation/what_if.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "planner/simulation/question.h"
#include "tests/planner/preemption/preemptions.h"
#include "tests/planner/reservation/reservations.h"
#include "tests/support/gang_builders.h"
#include "tests/support/job_builders.h"

namespace nervex::planner {
namespace {

using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::coordinator;
using testing::cordoned;
using testing::labelled;
using testing::planned;
using testing::view;
using Jobs = std::vector<std::string>;

const SysTime kAskedAt{std::chrono::seconds(1000)};

// Two nodes with 8 GPUs; on the first, 4 are in use.
Snapshot a_cluster() {
  Snapshot snapshot;
  snapshot.nodes = placement::Cluster({view(labelled(a_node("n1", 8), "model", "A100"), ask(4)),
                                       view(labelled(a_node("n2", 8), "model", "A100"))});
  snapshot.facts.class_label = "model";
  return snapshot;
}

// A job with so many collectors.
Candidate a_job(int collectors, int priority = 0, std::int64_t gpus_of_coordinator = 0) {
  Candidate candidate;
  candidate.role = "collector";
  candidate.replicas = collectors;
  candidate.make = [=](int replicas) {
    auto first = coordinator();
    first.shape.requests = ask(gpus_of_coordinator);
    return a_group("what-if", {first, a_set("collector", replicas, ask(1))}, 1000, priority);
  };
  return candidate;
}

void add(Snapshot& snapshot, gang::PodGroup group) {
  GroupSeen& seen = snapshot.groups.emplace_back();
  seen.group = std::make_shared<const gang::PodGroup>(std::move(group));
}

Answer ask_about(const Snapshot& snapshot, WhatIf what) {
  what.ns = "rl";
  return simulate(snapshot, what, kAskedAt, {});
}
Answer ask_about(const Snapshot& snapshot, Candidate candidate) {
  WhatIf what;
  what.candidate = std::move(candidate);
  return ask_about(snapshot, what);
}

TEST_CASE("a job that fits would start, on named nodes", "[extender][simulation]") {
  const Answer answer = ask_about(a_cluster(), a_job(10));
  CHECK(answer.verdict == SimulationVerdict::kStarts);
  CHECK(answer.message == "11 pods are placed");
  int pods = 0;
  for (const NodeUse& use : answer.nodes) {
    for (const auto& [role, count] : use.pods) pods += count;
  }
  CHECK(pods == 11);
}

TEST_CASE("the most replicas with which a job would start", "[extender][simulation]") {
  const int asked = GENERATE(1, 5, 11, 12, 13, 30, 500);
  INFO("it asks for " << asked);
  const Answer answer = ask_about(a_cluster(), a_job(asked));
  CHECK((answer.verdict == SimulationVerdict::kStarts) == (asked <= 12));
  CHECK(answer.most == MostReplicas{"collector", 12, false});
}

TEST_CASE("a job that does not fit without replicas either says so", "[extender][simulation]") {
  const Answer answer = ask_about(a_cluster(), a_job(2, 0, 9));
  CHECK(answer.verdict == SimulationVerdict::kNever);
  CHECK(answer.most == MostReplicas{"collector", -1, false});
  REQUIRE(answer.cause);
  CHECK(std::holds_alternative<gang::NeverFits>(*answer.cause));
}

TEST_CASE("what waits before the job counts", "[extender][simulation]") {
  Snapshot cluster = a_cluster();
  add(cluster, a_group("earlier", {a_set("learner", 1, ask(8))}, 10));
  CHECK(ask_about(cluster, a_job(6)).verdict == SimulationVerdict::kWaits);
  CHECK(ask_about(cluster, a_job(4)).verdict == SimulationVerdict::kStarts);
  CHECK(ask_about(cluster, a_job(6, 100)).verdict ==
        SimulationVerdict::kStarts);  // of higher priority
}

TEST_CASE("a job on nodes that do not exist", "[extender][simulation]") {
  struct Row {
    std::string when;
    std::vector<AddedNodes> added;
    std::vector<std::string> removed;
    SimulationVerdict verdict;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing changes", {}, {}, SimulationVerdict::kWaits},
      {"nodes of a class are added", {{"A100", 1}}, {}, SimulationVerdict::kStarts},
      {"nodes like a node are added", {{"n2", 1}}, {}, SimulationVerdict::kStarts},
      {"added nodes are empty although their like is in use",
       {{"n1", 1}},
       {},
       SimulationVerdict::kStarts},
      {"as many are left out", {{"A100", 1}}, {"n2"}, SimulationVerdict::kWaits},
      {"there is no node of the class", {{"H100", 1}}, {}, SimulationVerdict::kInvalid},
      {"there is no such node to leave out", {}, {"n3"}, SimulationVerdict::kInvalid},
  }));
  INFO("when " << row.when);
  WhatIf what;
  what.candidate = a_job(14);
  what.added = row.added;
  what.removed = row.removed;
  const Answer answer = ask_about(a_cluster(), what);
  INFO(answer.message);
  CHECK(answer.verdict == row.verdict);
}

TEST_CASE("added nodes are usable even if their like is cordoned", "[extender][simulation]") {
  Snapshot cluster;
  cluster.facts.class_label = "model";
  kube::Node node = cordoned(labelled(a_node("n1", 8), "model", "A100"));
  node.taints.push_back({"node.kubernetes.io/unschedulable", "", "NoSchedule"});
  cluster.nodes = placement::Cluster({view(node)});
  WhatIf what;
  what.candidate = a_job(4);
  CHECK(ask_about(cluster, what).verdict == SimulationVerdict::kWaits);
  what.added = {{"A100", 1}};
  CHECK(ask_about(cluster, what).verdict == SimulationVerdict::kStarts);
}

TEST_CASE("which waiting jobs would more nodes start?", "[extender][simulation]") {
  Snapshot cluster = a_cluster();
  add(cluster, a_group("small", {a_set("learner", 1, ask(2))}, 10));  // starts anyway
  add(cluster, a_group("large", {a_set("learner", 2, ask(8))}, 20));
  gang::PodGroup foreign = a_group("secret", {a_set("learner", 2, ask(8))}, 30);
  foreign.meta.ns = "other";
  add(cluster, foreign);
  WhatIf what;
  what.added = {{"n2", 3}};
  const Answer answer = ask_about(cluster, what);
  CHECK(answer.verdict == SimulationVerdict::kStarts);
  CHECK(answer.started == Jobs{"large"});
  CHECK(answer.started_elsewhere == 1);
  CHECK(answer.message == "2 waiting jobs would start");
  what.added = {{"n2", 1}};
  what.removed = {"n2"};
  CHECK(ask_about(cluster, what).message == "no waiting job would start");
  what.added.clear();
  CHECK(ask_about(cluster, what).verdict == SimulationVerdict::kInvalid);
}

TEST_CASE("what has nodes keeps them on a node that is left out", "[extender][simulation]") {
  Snapshot cluster = a_cluster();
  gang::PodGroup runs = planned(a_group("runs", {a_set("learner", 1, ask(4))}, 1), {"n1"}, true);
  add(cluster, runs);
  cluster.groups.back().open.push_back(
      {runs.status.gangs[0].placements[0], OpenSlot::Why::kUnbound});
  WhatIf what;
  what.candidate = a_job(8);
  what.removed = {"n1"};
  CHECK(ask_about(cluster, what).verdict == SimulationVerdict::kStarts);  // on n2, which is whole
  what.candidate = a_job(9);
  CHECK(ask_about(cluster, what).verdict == SimulationVerdict::kWaits);
}

TEST_CASE("a job that would wait starts when what is in its way has reached its limits",
          "[extender][simulation]") {
  testing::Reservations world;
  world.run_for("short", {"n1"}, 100);
  world.run_for("long", {"n2"}, 1'000);
  const auto ask = [&](int gpus) {
    WhatIf what;
    what.ns = "rl";
    Candidate candidate;
    candidate.make = [=](int) {
      return a_group("what-if", {a_set("learner", 1, testing::ask(gpus))});
    };
    what.candidate = std::move(candidate);
    return what;
  };
  const auto find = [&](int gpus) {
    return find_latest_start(world.snapshot(), ask(gpus), world.now, {});
  };
  CHECK(simulate(world.snapshot(), ask(8), world.now, {}).verdict == SimulationVerdict::kWaits);
  CHECK(find(8) == world.in(100));
  SECTION("not if it has no limit") {
    world.get("short").spec.active_deadline_seconds.reset();
    CHECK(find(8) == world.in(1'000));
    world.get("long").spec.active_deadline_seconds.reset();
    CHECK_FALSE(find(8));
  }
  SECTION("never, if the nodes are too small") { CHECK_FALSE(find(9)); }
}

TEST_CASE("a latest start counts on no job that its queue may get the nodes back for",
          "[extender][simulation]") {
  testing::Reservations world;
  world.queues = {testing::vision(), testing::speech()};
  world.nodes.resize(1);
  world.add_running("quota", "vision", {"n1"}, 8);
  world.get("quota").spec.preemptible = true;
  WhatIf what;
  what.ns = "rl";
  Candidate candidate;
  candidate.make = [](int) {
    gang::PodGroup group = a_group("what-if", {a_set("learner", 1, testing::ask(8))});
    group.spec.queue = "speech";
    group.spec.priority = 1;
    return group;
  };
  what.candidate = std::move(candidate);
  const auto find = [&](queue::PreemptionMode mode) {
    return find_latest_start(world.snapshot(), what, world.now, {{}, mode});
  };
  CHECK(find(queue::PreemptionMode::kOff));
  CHECK_FALSE(find(queue::PreemptionMode::kReclaim));
}

// -- the gang that is asked about

const job::PriorityClasses kNoClasses;

Question of_job(Json spec) {
  Question question;
  question.ns = "rl";
  question.name = "simulate-x";
  question.job = std::move(spec);
  return question;
}

Json a_spec(int collectors, int reserved = 0) {
  return {{"coordinator", {{"template", testing::a_template()}}},
          {"collector",
           {{"replicas", collectors},
            {"reservedReplicas", reserved},
            {"template", testing::with_gpus(testing::a_template(), "1")}}}};
}

TEST_CASE("a simulated job has the gang that the controller would create",
          "[extender][simulation]") {
  const auto candidate = make_candidate(of_job(a_spec(3)), {nullptr, kNoClasses}, kAskedAt);
  REQUIRE(candidate);
  CHECK(candidate->role == "collector");
  CHECK(candidate->replicas == 3);
  const gang::PodGroup group = candidate->make(3);
  CHECK(group.meta.ns.str() == "rl");
  CHECK(group.spec.queued_since == kAskedAt);
  REQUIRE(group.spec.gangs.size() == 1);
  CHECK(group.spec.gangs[0].members.size() == 2);
  CHECK(ask_about(a_cluster(), *candidate).most == MostReplicas{"collector", 12, false});
}

TEST_CASE("the most replicas of a job count those for which it reserves capacity",
          "[extender][simulation]") {
  const auto candidate = make_candidate(of_job(a_spec(2, 10)), {nullptr, kNoClasses}, kAskedAt);
  REQUIRE(candidate);
  const Answer answer = ask_about(a_cluster(), *candidate);
  CHECK(answer.verdict == SimulationVerdict::kStarts);
  CHECK(answer.most == MostReplicas{"collector", 12, false});
  int reserved = 0;
  for (const NodeUse& use : answer.nodes) {
    const auto at = use.pods.find("reserved");
    if (at != use.pods.end()) reserved += at->second;
  }
  CHECK(reserved == 8);
}

TEST_CASE("a job that cannot be simulated is refused with its field", "[extender][simulation]") {
  struct Row {
    std::string when;
    Json spec;
    std::string says;
  };
  Json no_class = a_spec(1);
  no_class["priorityClassName"] = "urgnet";
  Json per_job = a_spec(1);
  per_job["aggregator"] = "PerJob";
  Json wrong = a_spec(1);
  wrong["collector"]["replicas"] = "many";
  const auto row = GENERATE_COPY(
      Row{"a class is missing", no_class,
          "PriorityClass \"urgnet\", named by spec.priorityClassName, does not exist"},
      Row{"there is no AggregatorConfig", per_job,
          "spec.job.aggregator is PerJob, and there is no AggregatorConfig: the job would wait "
          "for one"},
      Row{"it cannot be read", wrong, "spec.collector.replicas"});
  INFO("when " << row.when);
  const auto candidate = make_candidate(of_job(row.spec), {nullptr, kNoClasses}, kAskedAt);
  REQUIRE_FALSE(candidate);
  CHECK(candidate.error().code == Code::kInvalid);
  INFO(candidate.error().message);
  CHECK(candidate.error().message.find(row.says) != std::string::npos);
}

// -- more replicas of a job

gang::PodGroupPtr share(gang::PodGroup group) {
  return std::make_shared<const gang::PodGroup>(std::move(group));
}

// A job that has its nodes, and reserves capacity for so many collectors more on n1, where 4 GPUs
// are in use: those that it reserves among them.
gang::PodGroup running(int reserved) {
  gang::PodGroup group = planned(
      a_group("dqn-1", {coordinator(), a_set("collector", 1, ask(1))}, 5), {"n1", "n1"}, true);
  group.spec.gangs[0].members[1].reserved_pods = reserved;
  if (reserved > 0) group.status.gangs[0].reserved = {{"collector", "n1", reserved}};
  return group;
}

Answer grow(const Snapshot& cluster, const gang::PodGroupPtr& of_job, int replicas) {
  const auto candidate = make_growth({"dqn", job::Role::kCollector, replicas}, of_job, kAskedAt);
  REQUIRE(candidate);
  return ask_about(cluster, *candidate);
}

TEST_CASE("more replicas of a running job use what it has reserved", "[extender][simulation]") {
  const bool is_settled = GENERATE(true, false);
  const gang::PodGroupPtr of_job = share(running(3));
  Snapshot cluster = a_cluster();
  if (!is_settled) add(cluster, *of_job);
  CHECK(grow(cluster, of_job, 3).verdict == SimulationVerdict::kStarts);
  CHECK(grow(cluster, of_job, 15).verdict == SimulationVerdict::kStarts);
  const Answer answer = grow(cluster, of_job, 16);
  CHECK(answer.verdict == SimulationVerdict::kWaits);
  CHECK(answer.most == MostReplicas{"collector", 15, false});
}

TEST_CASE("more replicas of a job that waits wait with it", "[extender][simulation]") {
  Snapshot cluster = a_cluster();
  const gang::PodGroupPtr of_job =
      share(a_group("dqn-1", {coordinator(), a_set("collector", 10, ask(1))}, 5));
  add(cluster, *of_job);
  CHECK(grow(cluster, of_job, 2).verdict == SimulationVerdict::kStarts);
  CHECK(grow(cluster, of_job, 3).verdict == SimulationVerdict::kWaits);
}

TEST_CASE("more replicas stay in the domain of the job", "[extender][simulation]") {
  Snapshot cluster;
  cluster.nodes = placement::Cluster({view(labelled(a_node("n1", 4), "zone", "a"), ask(4)),
                                      view(labelled(a_node("n2", 8), "zone", "b"))});
  gang::PodGroup group =
      planned(a_group("dqn-1", {a_set("collector", 4, ask(1))}, 5), {"n1", "n1", "n1", "n1"}, true);
  group.spec.gangs[0].members[0].shape.together = {"zone#1"};
  CHECK(grow(cluster, share(group), 1).verdict != SimulationVerdict::kStarts);
}

TEST_CASE("a job without such replicas cannot be grown", "[extender][simulation]") {
  const auto none = make_growth({"dqn", job::Role::kLearner, 3}, share(running(0)), kAskedAt);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kInvalid);
}

TEST_CASE("a Simulation is read as the API server stores it", "[extender][simulation]") {
  const std::string text = R"({
    "metadata": {"name": "s", "namespace": "rl", "uid": "u"},
    "spec": {"grow": {"job": "dqn", "role": "learner", "replicas": 4},
             "nodes": {"add": [{"like": "A100", "count": 8}], "remove": ["n1"]},
             "ttlSeconds": 60},
    "status": {"completionTime": "2026-11-26T10:00:00Z"}})";
  const auto simulation = parse_simulation(text);
  REQUIRE(simulation);
  CHECK(simulation->ttl_seconds == 60);
  CHECK(simulation->completed);
  CHECK_FALSE(parse_simulation("{"));
  const auto question = parse_question(text);
  REQUIRE(question);
  CHECK(question->ns == "rl");
  CHECK(question->growth == Growth{"dqn", job::Role::kLearner, 4});
  CHECK(question->added == std::vector<AddedNodes>{{"A100", 8}});
  CHECK(question->removed == Jobs{"n1"});
  CHECK(question->job.is_null());
  CHECK_FALSE(parse_question("{"));
}

TEST_CASE("the status names at most 200 nodes, and their number", "[extender][simulation]") {
  Answer answer;
  answer.verdict = SimulationVerdict::kStarts;
  for (int i = 0; i < 300; ++i) answer.nodes.push_back({"n" + std::to_string(i), {{"learner", 1}}});
  const Json status = encode_answer(answer, kAskedAt);
  CHECK(status["verdict"] == "Starts");
  CHECK(status["nodes"].size() == 200);
  CHECK(status["nodeCount"] == 300);
}

TEST_CASE("a job that would preempt says so, however many others wait before it",
          "[extender][simulation][preempt]") {
  testing::Preemptions world;
  world.add_running("low", "speech", {"n1"}, 8, 1);
  world.add_running("lower", "speech", {"n2"}, 8, 0);
  for (int i = 0; i < 8; ++i) world.add("large" + std::to_string(i), "speech", 3, 8, 9);
  WhatIf what;
  what.ns = "rl";
  what.candidate.emplace();
  what.candidate->replicas = 1;
  what.candidate->role = "learner";
  what.candidate->make = [](int replicas) {
    auto group = a_group("what-if", {a_set("learner", replicas, ask(8))}, 1000, 5);
    group.spec.queue = "speech";
    return group;
  };
  const Answer answer =
      simulate(world.snapshot(), what, world.now, {{}, queue::PreemptionMode::kFull});
  CHECK(answer.verdict == SimulationVerdict::kPreempts);
  REQUIRE(answer.victims.size() == 1);
  CHECK(answer.victims[0].pod_group == "lower");
}

}  // namespace
}  // namespace nervex::planner
