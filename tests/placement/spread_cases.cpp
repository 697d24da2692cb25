// spread_cases COUNT SEED: prints random gangs with topology spread constraints that fit, and their
// plans, a line of JSON each, for tests/filters.
#include <cstdlib>
#include <iostream>

#include "job/pod_manifest.h"
#include "placement/spread.h"
#include "tests/placement/random_spread.h"

namespace nervex::testing {
namespace {

Json make_pod(const std::string& name, const kube::Resources& requests) {
  Json labels = Json::object();
  const auto selectors = spread_selectors();
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    if (requests.get(selectors[i].counter) > 0) labels["s" + std::to_string(i)] = "";
  }
  Json resources = kube::encode_resources(requests);
  resources.erase("pods");
  return {
      {"metadata", {{"name", name}, {"namespace", "team-a"}, {"uid", name}, {"labels", labels}}},
      {"spec",
       {{"containers",
         Json::array(
             {{{"name", "main"}, {"image", "x"}, {"resources", {{"requests", resources}}}}})}}}};
}

// The node selector as required node affinity. Of the three terms one matches.
void require_labels(Json& spec, const Json& node_selector) {
  Json expressions = Json::array();
  for (const auto& [key, value] : node_selector.items()) {
    expressions.push_back({{"key", key}, {"operator", "In"}, {"values", Json::array({value})}});
  }
  const Json fields = Json::array(
      {{{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({"no-such-node"})}}});
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {"nodeSelectorTerms", Json::array({Json{{"matchExpressions", expressions}},
                                         Json{{"matchFields", fields}}, Json::object()})}};
}

Json make_written(const gang::MemberSet& set, const std::string& name) {
  Json pod = make_pod(name, set.shape.requests);
  pod["metadata"]["labels"]["set"] = set.name;
  const kube::NodeConstraints constraints = set.shape.constraints.unpack();
  if (!constraints.node_selector.empty()) {
    if (set.role == "learner") {
      require_labels(pod["spec"], constraints.node_selector);
    } else {
      pod["spec"]["nodeSelector"] = constraints.node_selector;
    }
  }
  for (const kube::TopologySpread& spread : set.shape.spread) {
    Json constraint = kube::encode_topology_spread(spread);
    constraint["whenUnsatisfiable"] = "DoNotSchedule";
    pod["spec"]["topologySpreadConstraints"].push_back(std::move(constraint));
  }
  return pod;
}

Json make_node(const placement::NodeView& view, int more_pods) {
  kube::Resources free = view.free;
  free.set("pods", free.get("pods") + more_pods);
  Json labels = Json::object();
  for (const auto& [key, value] : view.node->labels) labels[key.str()] = value.str();
  Json taints = Json::array();
  for (const kube::Taint& taint : view.node->taints) {
    taints.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  return {{"metadata", {{"name", view.node->name}, {"labels", labels}}},
          {"spec", {{"taints", taints}}},
          {"status", {{"allocatable", kube::encode_resources(free)}}}};
}

// One constraint, which counts exactly the pods that have it.
bool promises_order(const SpreadCase& c) {
  const kube::TopologySpread* only = nullptr;
  for (const gang::MemberSet& set : c.members) {
    for (const kube::TopologySpread& spread : set.shape.spread) {
      if (only != nullptr) return false;
      only = &spread;
    }
  }
  return only == nullptr ||
         std::all_of(c.members.begin(), c.members.end(), [&](const gang::MemberSet& set) {
           return set.shape.spread.empty() == (set.shape.requests.get(only->pods.counter) == 0);
         });
}

Json describe(const SpreadCase& c, const std::vector<placement::Assignment>& plan) {
  Json out{{"nodes", Json::array()},
           {"pods", Json::array()},
           {"planned", Json::array()},
           {"hasOrder", promises_order(c)}};
  for (const placement::NodeView& view : c.nodes) {
    int pods = 0;
    for (const kube::PodSelector& selector : spread_selectors()) {
      for (std::int64_t i = view.free.get(selector.counter); i < 0; ++i) {
        kube::Resources counted;
        counted.set(selector.counter, 1);
        Json pod = make_pod(view.node->name + "-" + std::to_string(pods++), counted);
        pod["spec"]["nodeName"] = view.node->name;
        out["pods"].push_back(std::move(pod));
      }
    }
    out["nodes"].push_back(make_node(view, pods));
  }
  for (const placement::Assignment& one : plan) {
    const auto set = std::find_if(c.members.begin(), c.members.end(),
                                  [&](const auto& member) { return member.role == one.role; });
    Json written = make_written(*set, one.role + "-" + std::to_string(one.slot.ordinal));
    Json pinned = written;
    job::pin_to_node(pinned["spec"], one.node);
    job::leave_spread_to_planner(pinned["spec"]);
    out["planned"].push_back({{"node", one.node}, {"pinned", pinned}, {"written", written}});
  }
  return out;
}

int run(int count, unsigned seed) {
  std::mt19937 rng(seed);
  for (int printed = 0; printed < count;) {
    const SpreadCase c = random_spread_case(rng);
    const placement::Plan plan = placement::plan_spread(c.members, c.nodes, {});
    const auto* placed = std::get_if<std::vector<placement::Assignment>>(&plan);
    if (placed == nullptr) continue;
    std::cout << describe(c, *placed).dump() << '\n';
    ++printed;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace nervex::testing

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: spread_cases COUNT SEED\n";
    return EXIT_FAILURE;
  }
  return nervex::testing::run(std::atoi(argv[1]), static_cast<unsigned>(std::atoi(argv[2])));
}
