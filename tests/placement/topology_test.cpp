// Topology, pod affinity and node classes: which domains a plan gets, and that no possible plan is
// missed.
#include "placement/topology.h"

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "placement/explain.h"
#include "tests/placement/spread_judge.h"
#include "tests/support/gang_builders.h"

namespace nervex::placement::topologies {
namespace {

using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::capacity;
using testing::labelled;
using testing::view;

const std::string kZone = "topology.kubernetes.io/zone";
const std::string kRack = "example.com/rack";
const std::string kClass = "example.com/class";

enum class Policy { kRequired, kPreferred };

// The pods of the set, and of others in the group, are to be near each other.
gang::MemberSet near(gang::MemberSet set, const std::string& level,
                     const std::string& group = "learner", Policy policy = Policy::kRequired) {
  set.shape.topology.push_back({level, group, policy == Policy::kRequired});
  return set;
}
gang::MemberSet preferably_near(gang::MemberSet set, const std::string& level,
                                const std::string& group = "learner") {
  return near(std::move(set), level, group, Policy::kPreferred);
}

// With capacity for as many pods that ask(1).
NodeView node(const std::string& name, const std::string& zone, const std::string& rack, int pods) {
  return view(labelled(labelled(a_node(name, 8), kZone, zone), kRack, rack),
              capacity(8 - pods, 0, 0));
}
NodeView of_class(const std::string& name, const std::string& node_class, int pods) {
  return view(labelled(a_node(name, 8), kClass, node_class), capacity(8 - pods, 0, 0));
}

Cluster cluster(const std::vector<NodeView>& nodes) {
  Cluster out(nodes);
  out.set_labels(std::make_shared<NodeLabels>(NodeLabels{kClass, {kZone, kRack}}));
  return out;
}

// "n1:2 n2:1", or why not.
std::string outcome(const std::vector<gang::MemberSet>& members, const std::vector<NodeView>& nodes,
                    const DomainFacts& facts = {}) {
  const Plan plan = plan_in_domains(members, cluster(nodes), {}, facts);
  if (const auto* no_fit = std::get_if<gang::NoFit>(&plan)) return explain(*no_fit);
  std::map<std::string, int> pods;
  for (const Assignment& one : std::get<std::vector<Assignment>>(plan)) ++pods[one.node];
  std::string text;
  for (const auto& [name, count] : pods) {
    text += (text.empty() ? "" : " ") + name + ":" + std::to_string(count);
  }
  return text;
}

// Rack a1 has two nodes, a2 one, both in zone a; rack b1 has three in zone b.
std::vector<NodeView> three_racks() {
  return {node("a1-1", "a", "a1", 2), node("a1-2", "a", "a1", 2), node("a2-1", "a", "a2", 3),
          node("b1-1", "b", "b1", 2), node("b1-2", "b", "b1", 2), node("b1-3", "b", "b1", 2)};
}

// Learners that are near each other by a level, in three racks.
struct Row {
  std::string when;
  int pods;
  std::string level;
  std::string want;
};

TEST_CASE("pods with a topology get the smallest domain that holds them", "[placement][topology]") {
  const auto row = GENERATE(values<Row>({
      {"one node of a rack suffices", 3, kRack, "a2-1:3"},
      {"two nodes of a rack do", 4, kRack, "a1-1:2 a1-2:2"},
      {"only the largest rack does", 6, kRack, "b1-1:2 b1-2:2 b1-3:2"},
      {"a zone has more than one rack", 7, kZone, "a1-1:2 a1-2:2 a2-1:3"},
      {"no rack does", 7, kRack,
       "learner: 1 of 7 does not fit in one example.com/rack: b1 has capacity for 6, a1 for 4; 2 "
       "together would hold all"},
      {"no zone does", 8, kZone,
       "learner: 1 of 8 does not fit in one topology.kubernetes.io/zone: a has capacity for 7, b "
       "for 6; 2 together would hold all"},
      {"all racks together do not", 14, kRack,
       "learner: 8 of 14 do not fit in one example.com/rack: b1 has capacity for 6, a1 for 4"},
      {"no rack does even when empty", 25, kRack,
       "learner: 1 of 25 can never fit in one example.com/rack: b1 has capacity, even when empty, "
       "for 24, a1 for 16; 2 together would hold all"},
      {"no node has the label", 1, "example.com/block",
       "learner: no node has the label example.com/block"},
  }));
  INFO("when " << row.when);
  CHECK(outcome({near(a_set("learner", row.pods, ask(1)), row.level)}, three_racks()) == row.want);
}

TEST_CASE("a preferred topology gives as few domains as possible", "[placement][topology]") {
  const auto row = GENERATE(values<Row>({
      {"one rack holds them", 4, kRack, "a1-1:2 a1-2:2"},
      {"two racks of one zone do, and no rack", 7, kRack, "a1-1:2 a1-2:2 a2-1:3"},
      {"two racks of two zones do", 9, kRack, "a2-1:3 b1-1:2 b1-2:2 b1-3:2"},
      {"all racks do", 13, kRack, "a1-1:2 a1-2:2 a2-1:3 b1-1:2 b1-2:2 b1-3:2"},
      {"no node has the label", 3, "example.com/block", "a1-1:2 a1-2:1"},
  }));
  INFO("when " << row.when);
  CHECK(outcome({preferably_near(a_set("learner", row.pods, ask(1)), row.level)}, three_racks()) ==
        row.want);
}

TEST_CASE("a role has a domain inside that of its job", "[placement][topology]") {
  const auto learners = [](int pods) {
    return near(near(a_set("learner", pods, ask(1)), kZone, "job"), kRack);
  };
  const auto collectors = [](int pods) {
    return near(a_set("collector", pods, ask(1)), kZone, "job");
  };
  CHECK(outcome({learners(4), collectors(3)}, three_racks()) == "a1-1:2 a1-2:2 a2-1:3");
  CHECK(outcome({learners(3), collectors(3)}, three_racks()) == "b1-1:2 b1-2:2 b1-3:2");
  CHECK(
      outcome({learners(5), collectors(2)}, three_racks()) ==
      "collector: 1 of 2 does not fit: each needs nvidia.com/gpu 1; 1 node has it free, 2 more are "
      "full; topology requires them in one topology.kubernetes.io/zone");
}

TEST_CASE("a role that no rack of the job's zone holds says so", "[placement][topology]") {
  std::vector<NodeView> nodes = three_racks();
  nodes.resize(3);  // zone a has racks for 4 and 3
  nodes.push_back(node("d1-1", "d", "d1", 5));
  const auto learners = near(near(a_set("learner", 5, ask(1)), kZone, "job"), kRack);
  const auto collectors = near(a_set("collector", 6, ask(1)), kZone, "job");
  CHECK(outcome({learners, collectors}, nodes) ==
        "learner: 1 of 5 does not fit in one example.com/rack, on nodes that its other topologies "
        "and nodeClasses leave: a1 has capacity for 4, a2 for 3; 2 together would hold all");
}

TEST_CASE("a rack that is in use is no proof against a gang", "[placement][topology]") {
  const auto job = [](int pods, int gpus) {
    return near(a_set(gpus == 1 ? "collector" : "learner", pods, ask(gpus)), kRack, "job");
  };
  // Rack a is free, and holds each role alone. Rack b would hold both if it were empty.
  const std::vector<NodeView> nodes{node("a-1", "a", "a", 8), node("a-2", "a", "a", 8),
                                    node("b-1", "b", "b", 0), node("b-2", "b", "b", 0),
                                    node("b-3", "b", "b", 0)};
  const Plan plan = plan_in_domains({job(8, 1), job(2, 8)}, cluster(nodes), {}, {});
  CHECK(std::holds_alternative<gang::InsufficientCapacity>(std::get<gang::NoFit>(plan)));
}

TEST_CASE("pods that come later join those that run", "[placement][topology]") {
  DomainFacts facts;
  const std::vector<NodeView> nodes = three_racks();
  const auto required = near(a_set("learner", 2, ask(1)), kRack);
  const auto preferred = preferably_near(a_set("learner", 2, ask(1)), kRack);
  for (const auto& set : {required, preferred}) {
    facts.taken.clear();
    add_taken_domains(set, cluster(nodes), "b1-1", facts);
    CHECK(outcome({set}, nodes, facts) == "b1-1:2");
  }
  SECTION("and if there is no capacity left, only preferred ones go elsewhere") {
    facts.taken.clear();
    add_taken_domains(required, cluster(nodes), "a2-1", facts);
    auto more = required;
    more.slots = a_set("learner", 4, ask(1)).slots;
    CHECK(outcome({more}, nodes, facts) ==
          "learner: 1 of 4 does not fit in one example.com/rack, where the job has pods or "
          "capacity: a2 has capacity for 3");
    more = preferred;
    more.slots = a_set("learner", 4, ask(1)).slots;
    CHECK(outcome({more}, nodes, facts) == "a1-1:1 a2-1:3");  // the same zone
  }
}

TEST_CASE("a role gets the first of its node classes that holds it", "[placement][topology]") {
  const std::vector<NodeView> nodes{of_class("a1", "a100", 8), of_class("l1", "l40s", 2),
                                    of_class("l2", "l40s", 2), of_class("t1", "t4", 8)};
  const auto collectors = [](int pods, std::vector<std::string> classes) {
    auto set = a_set("collector", pods, ask(1));
    set.shape.node_classes = std::move(classes);
    return set;
  };
  CHECK(outcome({collectors(4, {"l40s", "a100"})}, nodes) == "l1:2 l2:2");
  CHECK(outcome({collectors(5, {"l40s", "a100"})}, nodes) == "a1:5");
  CHECK(outcome({collectors(9, {"l40s", "a100"})}, nodes) ==
        "collector: 1 of 9 does not fit on nodes of one class: a100 has capacity for 8, l40s for "
        "4");
  CHECK(outcome({collectors(1, {"h100"})}, nodes) ==
        "collector: no node has a class of nodeClasses in its label example.com/class");
  DomainFacts growth;
  growth.classes = ClassRule::kForEachPod;
  CHECK(outcome({collectors(5, {"l40s", "a100"})}, nodes, growth) == "a1:1 l1:2 l2:2");
  CHECK(outcome({collectors(13, {"a100", "l40s"})}, nodes, growth) ==
        "collector: 1 of 13 does not fit: each needs nvidia.com/gpu 1; 3 nodes have it free; they "
        "may use nodes of their nodeClasses alone");
}

TEST_CASE("the order of node classes comes before the smallest domain", "[placement][topology]") {
  const auto make = [](const std::string& name, const std::string& zone,
                       const std::string& node_class, int pods) {
    return view(labelled(labelled(a_node(name, 8), kZone, zone), kClass, node_class),
                capacity(8 - pods, 0, 0));
  };
  auto learners = near(a_set("learner", 2, ask(1)), kZone);
  learners.shape.node_classes = {"a100", "l40s"};
  const std::vector<NodeView> nodes{make("l", "a", "l40s", 2), make("a", "b", "a100", 8),
                                    make("x", "b", "t4", 8)};
  CHECK(outcome({learners}, nodes) == "a:2");
}

TEST_CASE("the parts of a multi-GPU learner get one node class", "[placement][topology]") {
  std::vector<gang::MemberSet> parts{a_set("ddp-learner", 1, ask(8)),
                                     a_set("ddp-learner", 1, ask(8))};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].name = "part-" + std::to_string(i);
    parts[i].slots[0].ordinal = static_cast<int>(i);
    parts[i].shape.node_classes = {"a100", "l40s"};
  }
  const std::vector<NodeView> nodes{of_class("a1", "a100", 8), of_class("l1", "l40s", 8),
                                    of_class("l2", "l40s", 8)};
  CHECK(outcome(parts, nodes) == "l1:1 l2:1");
}

TEST_CASE("a search for domains ends soon", "[placement][topology]") {
  // No node holds the learners, also if the other roles are elsewhere.
  std::vector<NodeView> nodes;
  for (int i = 0; i < 500; ++i) {
    const std::string name = "n" + std::to_string(i);
    nodes.push_back(view(labelled(a_node(name, 8), std::string(kube::kHostname), name)));
  }
  std::vector<gang::MemberSet> members;
  for (const char* role : {"coordinator", "aggregator", "collector", "learner"}) {
    members.push_back(near(a_set(role, 2, ask(role == std::string("learner") ? 8 : 1)),
                           std::string(kube::kHostname), role));
    members.back().shape.together = {std::string(kube::kHostname) + "#1"};
  }
  CHECK(outcome(members, nodes).starts_with("learner: 1 of 2 can never fit in one"));
}

// ---- against brute force

struct Case {
  testing::SpreadCase spread;
  const std::vector<gang::MemberSet>& members() const { return spread.members; }
};

Case random_case(std::mt19937& rng) {
  const auto below = [&rng](unsigned n) { return static_cast<int>(rng() % n); };
  Case out{testing::random_spread_case(rng)};
  const bool is_spread = below(3) == 0;
  const std::string levels[] = {kZone, kRack};
  const auto policy = [&] { return below(4) == 0 ? Policy::kPreferred : Policy::kRequired; };
  for (NodeView& one : out.spread.nodes) {
    kube::Node changed = *one.node;
    if (below(10) != 0)
      changed = labelled(std::move(changed), kRack, "r" + std::to_string(below(4)));
    if (below(10) != 0)
      changed = labelled(std::move(changed), kClass, std::string(1, "xyz"[below(3)]));
    one.node = std::make_shared<const kube::Node>(std::move(changed));
  }
  const bool has_job_term = below(3) == 0;
  const Policy job_policy = policy();
  const std::string job_level = levels[below(2)];
  for (gang::MemberSet& set : out.spread.members) {
    if (!is_spread) set.shape.spread = {};
    if (has_job_term) set = near(std::move(set), job_level, "job", job_policy);
    if (below(3) == 0) set = near(set, levels[below(2)], set.role, policy());
    if (below(5) == 0) set.shape.together = {levels[below(2)] + "#1"};
    if (below(4) != 0) continue;
    std::vector<std::string> classes{"x", "y", "z"};
    std::shuffle(classes.begin(), classes.end(), rng);
    classes.resize(static_cast<std::size_t>(1 + below(3)));
    set.shape.node_classes = classes;
  }
  return out;
}

// The nodes of these sets' pods have one value of the label.
bool shares(const Case& c, const testing::PodCounts& pods, const std::vector<std::size_t>& sets,
            const std::string& key, std::set<std::string>& values) {
  for (const std::size_t set : sets) {
    for (std::size_t node = 0; node < c.spread.nodes.size(); ++node) {
      if (pods[set][node] == 0) continue;
      const auto& labels = c.spread.nodes[node].node->labels;
      const auto label = labels.find(key);
      if (label == labels.end()) return false;
      values.insert(label->second.str());
    }
  }
  return values.size() <= 1;
}

bool keeps_all(const Case& c, const testing::PodCounts& pods) {
  std::map<std::string, std::vector<std::size_t>> terms;  // "key#group"
  for (std::size_t set = 0; set < c.members().size(); ++set) {
    const gang::PodShape& shape = c.members()[set].shape;
    for (const auto& term : shape.topology) {
      if (term.is_required) terms[term.key + "#" + term.group].push_back(set);
    }
    for (const std::string& term : shape.together) terms[term].push_back(set);
    std::set<std::string> classes;
    if (shape.node_classes.empty()) continue;
    if (!shares(c, pods, {set}, kClass, classes)) return false;
    const auto& allowed = shape.node_classes;
    for (const std::string& used : classes) {
      if (std::find(allowed.begin(), allowed.end(), used) == allowed.end()) return false;
    }
  }
  for (const auto& [name, sets] : terms) {
    std::set<std::string> values;
    if (!shares(c, pods, sets, name.substr(0, name.find('#')), values)) return false;
  }
  return testing::is_kept(c.spread, pods);
}

bool fits(const Case& c) {
  testing::BruteForce search(c.members(), c.spread.nodes);
  const auto is_allowed = [&](std::size_t set, std::size_t node) {
    const kube::NodeConstraints constraints = c.members()[set].shape.constraints.unpack();
    return kube::judge(*c.spread.nodes[node].node, constraints) == kube::NodeFit::kAllowed;
  };
  return search.fits(is_allowed, [&] { return keeps_all(c, search.count()); });
}

// The nodes are not in use, and have no taints.
Case when_empty(Case c) {
  for (NodeView& one : c.spread.nodes) {
    kube::Node empty = *one.node;
    empty.taints.clear();
    one = view(std::move(empty));
  }
  return c;
}

TEST_CASE("plan_in_domains places a gang exactly if an exhaustive search does",
          "[placement][topology][property]") {
  const unsigned seed = GENERATE(take(10, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  int possible = 0;
  int impossible = 0;
  for (int i = 0; i < 60; ++i) {
    const Case c = random_case(rng);
    INFO("case " << i);
    const Plan plan = plan_in_domains(c.members(), cluster(c.spread.nodes), {}, {});
    const auto* placed = std::get_if<std::vector<Assignment>>(&plan);
    if (placed != nullptr) {
      CHECK(keeps_all(c, testing::count_pods(c.spread, *placed)));
      ++possible;
    } else {
      CHECK_FALSE(fits(c));
      if (gang::is_proof(std::get<gang::NoFit>(plan))) CHECK_FALSE(fits(when_empty(c)));
      ++impossible;
    }
  }
  INFO(possible << " possible, " << impossible << " not");
  CHECK(possible > 10);
  CHECK(impossible > 10);
}

}  // namespace
}  // namespace nervex::placement::topologies
