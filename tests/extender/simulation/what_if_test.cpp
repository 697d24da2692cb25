#include "extender/simulation/what_if.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "extender/simulation/question.h"
#include "tests/support/gang_builders.h"
#include "tests/support/job_builders.h"

namespace nervex::extender {
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

const SysTime kNow{std::chrono::seconds(1000)};

// Two nodes with 8 GPUs; on the first, 4 are in use.
Snapshot a_cluster() {
  Snapshot snapshot;
  snapshot.nodes = placement::Cluster({view(labelled(a_node("n1", 8), "model", "A100"), ask(4)),
                                       view(labelled(a_node("n2", 8), "model", "A100"))});
  snapshot.facts.class_label = "model";
  return snapshot;
}

gang::PodGroup a_job(int collectors, int priority = 0) {
  return a_group("what-if", {coordinator(), a_set("collector", collectors, ask(1))}, 1000,
                 priority);
}

void add(Snapshot& snapshot, gang::PodGroup group) {
  GroupSeen& seen = snapshot.groups.emplace_back();
  seen.group = std::make_shared<const gang::PodGroup>(std::move(group));
}

Answer ask_about(const Snapshot& snapshot, WhatIf what) {
  what.ns = "rl";
  return simulate(snapshot, what, kNow, {});
}
Answer ask_about(const Snapshot& snapshot, gang::PodGroup group) {
  WhatIf what;
  what.group = std::move(group);
  what.asks_for_most = true;
  return ask_about(snapshot, what);
}

TEST_CASE("a job that fits would start, on named nodes", "[extender][simulation]") {
  const Answer answer = ask_about(a_cluster(), a_job(10));
  CHECK(answer.verdict == Verdict::kStarts);
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
  CHECK((answer.verdict == Verdict::kStarts) == (asked <= 12));
  CHECK(answer.most == MostReplicas{"collector", 12, false});
}

TEST_CASE("a job that does not fit without replicas either says so", "[extender][simulation]") {
  gang::PodGroup group = a_job(2);
  group.spec.gangs[0].members[0].shape.requests = ask(9);
  const Answer answer = ask_about(a_cluster(), group);
  CHECK(answer.verdict == Verdict::kNever);
  CHECK(answer.most == MostReplicas{"collector", -1, false});
  REQUIRE(answer.cause);
  CHECK(std::holds_alternative<gang::NeverFits>(*answer.cause));
}

TEST_CASE("what waits before the job counts", "[extender][simulation]") {
  Snapshot cluster = a_cluster();
  add(cluster, a_group("earlier", {a_set("learner", 1, ask(8))}, 10));
  CHECK(ask_about(cluster, a_job(6)).verdict == Verdict::kWaits);
  CHECK(ask_about(cluster, a_job(4)).verdict == Verdict::kStarts);
  CHECK(ask_about(cluster, a_job(6, 100)).verdict == Verdict::kStarts);  // of higher priority
}

TEST_CASE("a job on nodes that do not exist", "[extender][simulation]") {
  struct Row {
    std::string when;
    std::vector<AddedNodes> added;
    std::vector<std::string> removed;
    Verdict verdict;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing changes", {}, {}, Verdict::kWaits},
      {"nodes of a class are added", {{"A100", 1}}, {}, Verdict::kStarts},
      {"nodes like a node are added", {{"n2", 1}}, {}, Verdict::kStarts},
      {"added nodes are empty, whatever runs on their like", {{"n1", 1}}, {}, Verdict::kStarts},
      {"as many are left out", {{"A100", 1}}, {"n2"}, Verdict::kWaits},
      {"there is no node of the class", {{"H100", 1}}, {}, Verdict::kInvalid},
      {"there is no such node to leave out", {}, {"n3"}, Verdict::kInvalid},
  }));
  INFO("when " << row.when);
  WhatIf what;
  what.group = a_job(14);
  what.added = row.added;
  what.removed = row.removed;
  const Answer answer = ask_about(a_cluster(), what);
  INFO(answer.message);
  CHECK(answer.verdict == row.verdict);
}

TEST_CASE("added nodes are usable even if their like is cordoned", "[extender][simulation]") {
  Snapshot cluster;
  cluster.facts.class_label = "model";
  cluster.nodes = placement::Cluster({view(cordoned(labelled(a_node("n1", 8), "model", "A100")))});
  WhatIf what;
  what.group = a_job(4);
  CHECK(ask_about(cluster, what).verdict == Verdict::kWaits);
  what.added = {{"A100", 1}};
  CHECK(ask_about(cluster, what).verdict == Verdict::kStarts);
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
  CHECK(answer.verdict == Verdict::kStarts);
  CHECK(answer.started == Jobs{"large"});
  CHECK(answer.started_elsewhere == 1);
  CHECK(answer.message == "2 waiting jobs would start");
  what.added = {{"n2", 1}};
  what.removed = {"n2"};
  CHECK(ask_about(cluster, what).message == "no waiting job would start");
}

// -- the gang that is asked about

const job::PriorityClasses kNoClasses;

Simulation of_job(Json spec) {
  Simulation simulation;
  simulation.meta.ns = "rl";
  simulation.meta.name = "simulate-x";
  simulation.job = std::move(spec);
  return simulation;
}

Json a_spec(int collectors) {
  return {{"coordinator", {{"template", testing::a_template()}}},
          {"collector", {{"replicas", collectors}, {"template", testing::a_template()}}}};
}

TEST_CASE("a simulated job has the gang that the controller would create",
          "[extender][simulation]") {
  const auto group = make_group(of_job(a_spec(3)), {nullptr, kNoClasses}, kNow);
  REQUIRE(group);
  CHECK(group->meta.ns == "rl");
  CHECK(group->spec.queued_since == kNow);
  REQUIRE(group->spec.gangs.size() == 1);
  CHECK(group->spec.gangs[0].members.size() == 2);
  CHECK(ask_about(a_cluster(), *group).verdict == Verdict::kStarts);
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
  const auto group = make_group(of_job(row.spec), {nullptr, kNoClasses}, kNow);
  REQUIRE_FALSE(group);
  CHECK(group.error().code == Code::kInvalid);
  INFO(group.error().message);
  CHECK(group.error().message.find(row.says) != std::string::npos);
}

TEST_CASE("more replicas of a job use what it has reserved first", "[extender][simulation]") {
  gang::PodGroup of_job =
      planned(a_group("dqn-1", {coordinator(), a_set("collector", 2, ask(1))}, 5, 7),
              {"n1", "n1", "n1"}, true);
  of_job.status.gangs[0].reserved = {{"collector", "n1", 3}};
  of_job.status.queue.name = "vision";
  const Growth growth{"dqn", job::Role::kCollector, 5};
  const auto group = make_growth(growth, of_job);
  REQUIRE(group);
  CHECK(group->spec.priority == 7);
  CHECK(group->spec.queue == "vision");
  REQUIRE(group->spec.gangs.size() == 1);
  CHECK(group->spec.gangs[0].members[0].slots.size() == 2);
  CHECK(make_growth({"dqn", job::Role::kCollector, 3}, of_job)->spec.gangs.empty());
  const auto none = make_growth({"dqn", job::Role::kLearner, 3}, of_job);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kInvalid);
}

TEST_CASE("a Simulation is read as the API server stores it", "[extender][simulation]") {
  const auto simulation = parse_simulation(R"({
    "metadata": {"name": "s", "namespace": "rl", "uid": "u"},
    "spec": {"grow": {"job": "dqn", "role": "learner", "replicas": 4},
             "nodes": {"add": [{"like": "A100", "count": 8}], "remove": ["n1"]},
             "ttlSeconds": 60},
    "status": {"completionTime": "2026-11-26T10:00:00Z"}})");
  REQUIRE(simulation);
  CHECK(simulation->growth == Growth{"dqn", job::Role::kLearner, 4});
  CHECK(simulation->added == std::vector<AddedNodes>{{"A100", 8}});
  CHECK(simulation->removed == Jobs{"n1"});
  CHECK(simulation->ttl_seconds == 60);
  CHECK(simulation->completed);
  CHECK(simulation->job.is_null());
  CHECK_FALSE(parse_simulation("{"));
}

TEST_CASE("the status names at most 200 nodes, and their number", "[extender][simulation]") {
  Answer answer;
  answer.verdict = Verdict::kStarts;
  for (int i = 0; i < 300; ++i) answer.nodes.push_back({"n" + std::to_string(i), {{"learner", 1}}});
  const Json status = encode_answer(answer, kNow);
  CHECK(status["verdict"] == "Starts");
  CHECK(status["nodes"].size() == 200);
  CHECK(status["nodeCount"] == 300);
}

}  // namespace
}  // namespace nervex::extender
