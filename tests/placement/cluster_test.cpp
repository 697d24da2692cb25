#include "placement/cluster.h"

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <chrono>
#include <limits>
#include <random>

#include "tests/support/gang_builders.h"

namespace nervex::placement {
namespace {

using testing::a_node;
using testing::labelled;
using testing::view;

TEST_CASE("nodes have indexes in the order of their names", "[placement][cluster]") {
  const Cluster cluster{view(a_node("b", 8)), view(a_node("a", 4)), view(a_node("b", 1))};
  REQUIRE(cluster.size() == 2);
  CHECK(cluster.node(0).name == "a");
  CHECK(cluster.find("b") == 1U);
  CHECK_FALSE(cluster.find("c"));
  CHECK(cluster.free(1, "nvidia.com/gpu") == 8);  // the first one counts
  CHECK(cluster.free(0, "example.com/other") == 0);
  CHECK_FALSE(Cluster().find("a"));
}

TEST_CASE("rows count as kube::Resources do", "[placement][cluster]") {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  struct Row {
    std::string when;
    kube::Resources amount;
  };
  const auto row = GENERATE(values<Row>({
      {"it has all", {{"cpu", 500}, {"nvidia.com/gpu", 2}}},
      {"it has too little", {{"cpu", 500'000}}},
      {"no node has such a resource", {{"example.com/other", 1}}},
      {"a host port is free", {{"hostPort:TCP/80", 1}}},
      {"a host port is taken", {{"hostPort:TCP/81", 1}}},
      {"the amount is as large as can be", {{"memory", kMost}}},
      {"nothing is asked", {}},
  }));
  INFO("when " << row.when);
  const NodeView node = view(a_node("a", 8), {{"hostPort:TCP/81", 1}});
  Cluster cluster{node};
  kube::Resources free = node.free;
  CHECK(cluster.first_lacking(0, row.amount) == row.amount.first_lacking(free));
  const Cluster copy = cluster;
  for (int i = 0; i < 3; ++i) {
    cluster.take(0, row.amount);
    free -= row.amount;
    CHECK(cluster.first_lacking(0, row.amount) == row.amount.first_lacking(free));
  }
  free.set("example.com/other", 0);
  CHECK(cluster.free(0) == free);
  CHECK(copy.free(0) == node.free);
}

TEST_CASE("verdicts are the results of judge for each node", "[placement][cluster][property]") {
  const auto seed = GENERATE(take(30, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const auto below = [&rng](unsigned n) { return static_cast<int>(rng() % n); };
  std::vector<NodeView> nodes;
  for (int i = 0; i < 40; ++i) {
    kube::Node node = a_node("n" + std::to_string(10 + i), 8);
    if (below(2) == 0) node = labelled(std::move(node), "x", below(2) == 0 ? "" : "1");
    if (below(2) == 0) node = labelled(std::move(node), "y", std::to_string(below(3)));
    if (below(6) == 0) node = testing::tainted(std::move(node));
    if (below(6) == 0) node.taints.push_back({"reserved", "no", "NoSchedule"});
    if (below(6) == 0) node.taints.push_back({"reserved", "no", "PreferNoSchedule"});
    if (below(6) == 0) node.taints.push_back({"leaving", "", "NoExecute"});
    if (below(6) == 0) node = testing::cordoned(std::move(node));
    if (below(6) == 0) node = testing::not_ready(std::move(node));
    nodes.push_back(view(std::move(node)));
  }
  const Cluster cluster(nodes);
  const char* const kTerms[] = {
      R"([{"matchExpressions":[{"key":"y","operator":"In","values":["1","2"]}]}])",
      R"([{"matchExpressions":[{"key":"x","operator":"DoesNotExist"}]},
          {"matchExpressions":[{"key":"y","operator":"Gt","values":["0"]}]}])",
      R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["n11","n12"]}]}])",
  };
  for (int i = 0; i < 100; ++i) {  // more than are kept
    kube::NodeConstraints constraints;
    if (below(2) == 0) constraints.node_selector["x"] = below(2) == 0 ? "" : "1";
    if (below(2) == 0) constraints.node_selector_terms = *kube::parse_json(kTerms[below(3)]);
    if (below(3) == 0) {
      constraints.volume_terms = Json::array({*kube::parse_json(kTerms[below(3)])});
    }
    if (below(2) == 0) {
      constraints.tolerations.push_back(
          {{"key", "reserved"}, {"value", below(2) == 0 ? "yes" : "no"}});
    }
    if (below(2) == 0) constraints.tolerations.push_back({{"key", "leaving"}});
    if (below(3) == 0) {
      constraints.tolerations.push_back({{"operator", "Exists"}, {"tolerationSeconds", 5}});
    }
    if (below(3) == 0) {
      const Json terms = *kube::parse_json(kTerms[below(3)]);
      constraints.preferred_terms.push_back({{"weight", i + 1}, {"preference", terms[0]}});
    }
    const Cluster unasked = cluster.for_one_plan();
    const auto verdicts = cluster.verdicts(constraints);
    Cluster copy;
    copy = cluster;
    CHECK(copy.verdicts(constraints) == verdicts);  // kept
    CHECK(copy.for_one_plan().verdicts(constraints) != verdicts);
    for (std::size_t n = 0; n < cluster.size(); ++n) {
      const kube::Node& node = cluster.node(n);
      CHECK(verdicts->fits[n] == kube::judge(node, constraints));
      CHECK(cluster.fit(n, constraints) == verdicts->fits[n]);
      CHECK(unasked.fit(n, constraints) == verdicts->fits[n]);
      CHECK(verdicts->selected[n] == kube::selects(constraints, node));
      const auto fit = kube::judge(node, constraints);
      const std::int64_t preference = kube::preference(node, constraints);
      if (!verdicts->score.empty()) CHECK(verdicts->score[n] == preference);
      if (verdicts->score.empty()) CHECK((preference == 0 || fit != kube::NodeFit::kAllowed));
      const bool evicts = !verdicts->evicts.empty() && verdicts->evicts[n];
      CHECK(evicts == (fit == kube::NodeFit::kAllowed && kube::evicts(node, constraints)));
      // Where only the pod's own wishes speak, both say the same.
      kube::Node plain = node;
      plain.ready = true;
      plain.unschedulable = false;
      plain.taints = {};
      const bool allowed = kube::judge(plain, constraints) == kube::NodeFit::kAllowed;
      CHECK(kube::selects(constraints, node) == allowed);
    }
  }
}

}  // namespace
}  // namespace nervex::placement
