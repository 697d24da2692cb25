#include "extender/act/simulator.h"

#include <catch2/catch_test_macros.hpp>

#include "extender/watches.h"
#include "tests/extender/cluster.h"
#include "tests/support/kept_bytes.h"
#include "tests/support/sanitized.h"

namespace nervex::extender {
namespace {

using testing::Applied;
using testing::ExtenderCluster;
using testing::kNs;

constexpr const char* kConfig = "nervex-system/aggregator-config";

// A cluster with a node of 8 GPUs, and a job dqn that waits for 9.
struct SimulatedCluster : ExtenderCluster {
  SimulatedCluster() {
    add_node("n1", 8);
    add_group("dqn-1", {testing::a_set("collector", 9, testing::ask(1))});
    api.change(kube::kPodGroups, kNs, "dqn-1",
               {{"metadata", {{"labels", {{"nervexjob-name", "dqn"}}}}}});
    see();
  }

  void create(const std::string& name, Json spec = {{"grow", {{"job", "dqn"}, {"replicas", 1}}}}) {
    api.add(kube::kSimulations, kNs, {{"metadata", {{"name", name}}}, {"spec", std::move(spec)}});
    see_simulations();
  }
  void see_simulations() {
    simulations.begin_list();
    for (const Json& object : api.list(kube::kSimulations)) {
      auto one = planner::parse_simulation(kube::to_text(object));
      const std::string key = one->meta.key();
      simulations.put(key, *std::move(one));
    }
    simulations.end_list(std::to_string(api.resource_version()));
  }
  Result<Nothing> process(const std::string& name) {
    return simulator.process(std::string(kNs) + "/" + name);
  }
  Json status(const std::string& name) {
    const Json object = api.get(kube::kSimulations, kNs, name);
    const Json* status = kube::find(object, {"status"});
    return status == nullptr ? Json() : *status;
  }

  kube::Store<planner::Simulation> simulations;
  Simulator simulator{api, cache.planner, groups, volumes, simulations, clock, {}, kConfig};
};

TEST_CASE("a Simulation is answered once", "[extender][simulation]") {
  SimulatedCluster cluster;
  cluster.create("one");
  REQUIRE(cluster.process("one"));
  const Json first = cluster.status("one");
  CHECK(first["verdict"] == "Never");  // it waits for 9 GPUs of 8, and 1 more
  const auto written = cluster.api.writes().size();
  cluster.clock.advance(std::chrono::seconds(1));
  SECTION("if it was seen to be answered") {}
  SECTION("if the reply was not seen yet") {
    // As a new leader with an older cache.
    kube::Store<planner::Simulation> old;
    auto before = *cluster.simulations.get(std::string(kNs) + "/one");
    before.completed.reset();
    before.meta.resource_version = "1";
    old.put(before.meta.key(), before);
    Simulator other(cluster.api, cluster.cache.planner, cluster.groups, cluster.volumes, old,
                    cluster.clock, {}, kConfig);
    REQUIRE(other.process(std::string(kNs) + "/one"));
    CHECK(cluster.status("one") == first);
    return;
  }
  REQUIRE(cluster.process("one"));
  CHECK(cluster.status("one") == first);
  CHECK(cluster.api.writes().size() == written);
}

TEST_CASE("a lost reply does not change the answer", "[extender][simulation]") {
  SimulatedCluster cluster;
  cluster.create("one");
  cluster.api.fail_next("PATCH", "/simulations", {Code::kTransient, "timeout"}, Applied::kYes);
  CHECK_FALSE(cluster.process("one"));
  const Json first = cluster.status("one");
  cluster.clock.advance(std::chrono::seconds(5));
  CHECK(cluster.process("one"));  // a conflict: the watch reports the answer
  CHECK(cluster.status("one") == first);
}

TEST_CASE("an answer that the API server refuses is replaced by a short one",
          "[extender][simulation]") {
  SimulatedCluster cluster;
  cluster.create("one");
  cluster.api.fail_next("PATCH", "/simulations", {Code::kInvalid, "too long"});
  CHECK(cluster.process("one"));
  CHECK(cluster.status("one")["verdict"] == "Invalid");
  CHECK(cluster.status("one")["message"] == "the answer cannot be stored");
}

TEST_CASE("an answered Simulation is deleted after its time", "[extender][simulation]") {
  SimulatedCluster cluster;
  cluster.create("one", {{"grow", {{"job", "dqn"}, {"replicas", 1}}}, {"ttlSeconds", 60}});
  REQUIRE(cluster.process("one"));
  cluster.see_simulations();
  cluster.clock.advance(std::chrono::seconds(59));
  REQUIRE(cluster.process("one"));
  CHECK_FALSE(cluster.status("one").is_null());
  cluster.clock.advance(std::chrono::seconds(2));
  REQUIRE(cluster.process("one"));
  cluster.see_simulations();
  CHECK(cluster.simulations.size() == 0);
}

TEST_CASE("a namespace keeps 20 answered Simulations, and 20 that wait", "[extender][simulation]") {
  SimulatedCluster cluster;
  for (int i = 0; i < 25; ++i) {
    cluster.create("s" + std::to_string(i));
    cluster.clock.advance(std::chrono::seconds(1));
  }
  REQUIRE(cluster.process("s24"));
  CHECK(cluster.status("s24")["message"] ==
        "20 other Simulations of the namespace wait for an answer: ask again");
  for (int i = 0; i < 24; ++i) REQUIRE(cluster.process("s" + std::to_string(i)));
  cluster.see_simulations();
  REQUIRE(cluster.process("s23"));
  cluster.see_simulations();
  CHECK(cluster.simulations.size() == 20);
}

TEST_CASE("what is kept of a Simulation does not grow with its question",
          "[extender][simulation][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  SimulatedCluster cluster;
  const auto sink = simulation_sink(cluster.simulations, cluster.simulator);
  const double kept = testing::kept_per_byte(sink, 26, [](int i) {
    return R"({"metadata":{"namespace":"rl","name":"s)" + std::to_string(i) +
           R"(","uid":"u","labels":{"a":"b"},"annotations":{"a":"b"}},"spec":{"job":{"x":[)" +
           testing::repeat("{}", 200'000) + "]}}}";
  });
  CHECK(cluster.simulations.size() == 27);
  INFO(kept << " bytes for each byte stored");
  CHECK(kept < 0.01);
}

TEST_CASE("a Simulation with too many values is answered, and so is the next",
          "[extender][simulation][memory]") {
  SimulatedCluster cluster;
  Json values = Json::array();
  for (std::size_t i = 0; i < planner::kMostQuestionValues; ++i) values.push_back(Json::object());
  cluster.create("large", {{"job", {{"x", values}}}});
  cluster.create("next");
  REQUIRE(cluster.process("large"));
  CHECK(cluster.status("large")["verdict"] == "Invalid");
  CHECK(cluster.status("large")["message"] ==
        "the Simulation has more than 50000 values, such as variables or arguments");
  REQUIRE(cluster.process("next"));
  CHECK(cluster.status("next")["verdict"] == "Never");
}

TEST_CASE("a Simulation that is deleted before its turn gets no answer", "[extender][simulation]") {
  SimulatedCluster cluster;
  cluster.create("gone");
  cluster.api.remove(kube::kSimulations, kNs, "gone");
  CHECK(cluster.process("gone"));
  CHECK(cluster.api.writes().empty());
}

TEST_CASE("a question about nothing is answered, too", "[extender][simulation]") {
  SimulatedCluster cluster;
  cluster.create("gone", {{"grow", {{"job", "gone"}, {"replicas", 1}}}});
  REQUIRE(cluster.process("gone"));
  CHECK(cluster.status("gone")["verdict"] == "Invalid");
  cluster.create("many", {{"nodes",
                           {{"add", Json::array({{{"like", "n1"}, {"count", 600}},
                                                 {{"like", "n1"}, {"count", 600}}})}}}});
  REQUIRE(cluster.process("many"));
  CHECK(cluster.status("many")["message"] == "more than 1000 nodes are added");
  CHECK(cluster.process("never-there"));
}

TEST_CASE("a job that would wait is told when it starts at the latest", "[extender][simulation]") {
  SimulatedCluster cluster;
  cluster.add_group("long-1", {testing::a_set("learner", 1, testing::ask(8))});
  cluster.api.change(kube::kPodGroups, kNs, "long-1",
                     {{"spec", {{"activeDeadlineSeconds", 100}, {"graceSeconds", 0}}}});
  const auto pods = cluster.plan_and_add_pods("long-1");
  REQUIRE(cluster.bind(pods.at(0), "n1").empty());
  cluster.add_group("next-1", {testing::a_set("collector", 4, testing::ask(1))});
  cluster.api.change(kube::kPodGroups, kNs, "next-1",
                     {{"metadata", {{"labels", {{"nervexjob-name", "next"}}}}}});
  cluster.see();
  cluster.create("one", {{"grow", {{"job", "next"}, {"replicas", 1}}}});
  REQUIRE(cluster.process("one"));
  CHECK(cluster.status("one")["verdict"] == "Waits");
  CHECK(cluster.status("one")["start"]["latest"] ==
        to_rfc3339(cluster.clock.now() + std::chrono::seconds(100)));
}

TEST_CASE("an outage of the API server is waited for", "[extender][simulation]") {
  SimulatedCluster cluster;
  cluster.create("job", {{"job", {{"coordinator", {{"template", {{"spec", Json::object()}}}}}}}});
  cluster.api.fail_next("GET", "/aggregatorconfigs", {Code::kTransient, "timeout"});
  CHECK_FALSE(cluster.process("job"));
  CHECK(cluster.status("job").is_null());
  CHECK(cluster.process("job"));
  CHECK_FALSE(cluster.status("job").is_null());
}

}  // namespace
}  // namespace nervex::extender
