// Topology spread constraints: what a plan keeps, and that no possible plan is missed.
#include "placement/spread.h"

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <map>
#include <random>
#include <string>

#include "kube/model/anti_affinity.h"
#include "placement/distribute.h"
#include "placement/explain.h"
#include "tests/placement/brute_force.h"
#include "tests/placement/random_spread.h"
#include "tests/placement/spread_judge.h"
#include "tests/support/gang_builders.h"

namespace nervex::placement::spreads {
namespace {

using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::capacity;
using testing::labelled;
using testing::view;

const std::string kZone = "topology.kubernetes.io/zone";
const std::string kHost(kube::kHostname);

kube::TopologySpread by(const std::string& key, int max_skew = 1) {
  kube::TopologySpread spread;
  spread.key = key;
  spread.max_skew = max_skew;
  spread.pods = kube::make_pod_selector("team-a", "[]");
  return spread;
}

// The constraint counts the set's own pods.
gang::MemberSet spread(gang::MemberSet set, kube::TopologySpread constraint) {
  set.shape.requests.set(constraint.pods.counter, 1);
  set.shape.spread.push_back(std::move(constraint));
  return set;
}

// With capacity for as many pods that ask(1), and `matching` running pods that by() counts.
NodeView node(const std::string& name, const std::string& zone, int pods, int matching = 0) {
  auto made = labelled(labelled(a_node(name, 8), kHost, name), kZone, zone);
  auto used = capacity(8 - pods, 0, 0);
  if (matching > 0) used.set(by("").pods.counter, matching);
  return view(std::move(made), used);
}

// "a:2 b:1", by value of the label, or why not.
std::string outcome(const std::vector<gang::MemberSet>& members, const std::vector<NodeView>& nodes,
                    const std::string& key = kZone) {
  const Plan plan = plan_spread(members, nodes, {});
  if (const auto* no_fit = std::get_if<gang::NoFit>(&plan)) return explain(*no_fit);
  std::map<std::string, int> pods;
  for (const Assignment& one : std::get<std::vector<Assignment>>(plan)) {
    for (const NodeView& each : nodes) {
      if (each.node->name == one.node) ++pods[each.node->labels.find(key)->second.str()];
    }
  }
  std::string text;
  for (const auto& [value, count] : pods) {
    text += (text.empty() ? "" : " ") + value + ":" + std::to_string(count);
  }
  return text;
}

TEST_CASE("pods are spread over the domains within maxSkew", "[placement][spread]") {
  struct Row {
    std::string when;
    kube::TopologySpread constraint;
    int pods;
    std::vector<NodeView> nodes;
    std::string want;
  };
  const auto with = [](kube::TopologySpread spread, auto change) {
    change(spread);
    return spread;
  };
  const std::vector<NodeView> two{node("a1", "a", 8), node("b1", "b", 8)};
  const std::vector<NodeView> uneven{node("a1", "a", 8), node("b1", "b", 1)};
  const auto row = GENERATE_COPY(values<Row>({
      {"all domains have capacity", by(kZone), 4, two, "a:2 b:2"},
      {"an odd number", by(kZone), 5, two, "a:3 b:2"},
      {"one has less capacity: as much as maxSkew allows", by(kZone, 2), 4, uneven, "a:3 b:1"},
      {"one has too little", by(kZone), 4, uneven,
       "collector: 1 of 4 does not fit within maxSkew 1 of topology.kubernetes.io/zone: b has the "
       "fewest pods and no capacity for more"},
      {"running pods count", by(kZone), 3, {node("a1", "a", 8, 2), node("b1", "b", 8)}, "a:1 b:2"},
      {"a domain that is over is left out",
       by(kZone),
       3,
       {node("a1", "a", 8, 9), node("b1", "b", 8), node("c1", "c", 8)},
       "b:2 c:1"},
      {"fewer domains than minDomains: none has more than maxSkew",
       with(by(kZone, 2), [](auto& one) { one.min_domains = 3; }), 4, two, "a:2 b:2"},
      {"and more pods do not fit", with(by(kZone, 2), [](auto& one) { one.min_domains = 3; }), 5,
       two,
       "collector: 1 of 5 does not fit within maxSkew 2 of topology.kubernetes.io/zone: minDomains "
       "is 3, and allowed nodes have 2 values of this label"},
      {"a preference is kept where it can be",
       with(by(kZone), [](auto& one) { one.is_required = false; }), 4, two, "a:2 b:2"},
      {"and no longer", with(by(kZone), [](auto& one) { one.is_required = false; }), 5, uneven,
       "a:4 b:1"},
      {"no node has the label", by("rack"), 1, two,
       "collector: 1 of 1 does not fit within maxSkew 1 of rack: no allowed node has this label"},
  }));
  INFO("when " << row.when);
  const auto set = spread(a_set("collector", row.pods, ask(1)), row.constraint);
  CHECK(outcome({set}, row.nodes) == row.want);
}

TEST_CASE("which nodes count as domains follows the policies", "[placement][spread]") {
  std::vector<NodeView> nodes{node("a1", "a", 8), node("b1", "b", 8)};
  kube::Node other = *node("c1", "c", 8).node;
  nodes.push_back(view(testing::tainted(labelled(other, "pool", "other"))));
  const auto selecting = [](kube::TopologySpread constraint) {
    auto set = spread(a_set("collector", 4, ask(1)), std::move(constraint));
    set.shape.constraints.edit([](kube::NodeConstraints& its) {
      its.node_selector_terms =
          Json::parse(R"([{"matchExpressions": [{"key": "pool", "operator": "DoesNotExist"}]}])");
    });
    return set;
  };
  CHECK(outcome({selecting(by(kZone))}, nodes) == "a:2 b:2");
  auto all = by(kZone);
  all.honors_affinity = false;
  // Zone c counts, with no pod.
  CHECK(
      outcome({selecting(all)}, nodes).starts_with("collector: 2 of 4 do not fit within maxSkew"));
  // So does a node with a taint, unless the constraint says otherwise.
  CHECK(outcome({spread(a_set("collector", 4, ask(1)), by(kZone))}, nodes)
            .starts_with("collector: 2 of 4 do not fit within maxSkew"));
  auto tolerated = by(kZone);
  tolerated.honors_taints = true;
  CHECK(outcome({spread(a_set("collector", 4, ask(1)), tolerated)}, nodes) == "a:2 b:2");
}

TEST_CASE("two keys at once, and sets that one constraint counts together", "[placement][spread]") {
  const std::vector<NodeView> nodes{node("a1", "a", 8), node("a2", "a", 8), node("b1", "b", 8),
                                    node("b2", "b", 8)};
  const auto both = spread(spread(a_set("collector", 6, ask(1)), by(kHost)), by(kZone));
  CHECK(outcome({both}, nodes) == "a:3 b:3");
  CHECK(outcome({both}, nodes, kHost) == "a1:2 a2:1 b1:2 b2:1");
  // With three in each zone, a1 has two more than one of the others.
  CHECK(
      outcome({both}, {nodes[0], nodes[2], nodes[3]}) ==
      "collector: 1 of 6 does not fit within maxSkew 1 of topology.kubernetes.io/zone beside other "
      "constraints");
  const auto collectors = spread(a_set("collector", 3, ask(1)), by(kHost));
  const auto learners = spread(a_set("learner", 1, ask(8)), by(kHost));
  CHECK(outcome({collectors, learners}, nodes, kHost) == "a1:1 a2:1 b1:1 b2:1");
}

TEST_CASE("pods go where the fewest are, of equal domains to the first", "[placement][spread]") {
  SpreadCells cells(2);  // by zone, then by node
  cells.add(std::vector<std::size_t>{2, 3}, 1);
  cells.add(std::vector<std::size_t>{0, 0}, 1);
  cells.add(std::vector<std::size_t>{0, 1}, 9);
  cells.add(std::vector<std::size_t>{1, 2}, 9);
  std::vector<std::vector<std::int64_t>> counts{{0, 1, 0}, {0, 0, 1, 0}};
  CHECK(distribute(5, cells, counts) == 0);
  CHECK(counts == std::vector<std::vector<std::int64_t>>{{3, 2, 1}, {1, 2, 2, 1}});
  CHECK(distribute(20, cells, counts) == 0);
  CHECK(distribute(21, cells, counts) == 1);
}

TEST_CASE("a constraint of one role that counts another one finds its plan in a large cluster",
          "[placement][spread]") {
  std::vector<NodeView> nodes;
  for (int i = 0; i < 600; ++i) nodes.push_back(node("n" + std::to_string(i), "a", 8));
  auto coordinator = a_set("coordinator", 1, ask(1));
  coordinator.shape.requests.set(by("").pods.counter, 1);
  const auto collectors = spread(a_set("collector", 400, ask(1)), by(kHost));
  const Plan plan = plan_spread({coordinator, collectors}, nodes, {});
  CHECK(std::holds_alternative<std::vector<Assignment>>(plan));
}

TEST_CASE("pods that a constraint counts and that do not have it go anywhere",
          "[placement][spread]") {
  // The selector is a label of the whole job: six learners fit in zone a alone.
  const std::vector<NodeView> nodes{node("a1", "a", 8), node("b1", "b", 4)};
  auto learners = testing::selecting(a_set("learner", 6, ask(1)), kZone, "a");
  learners.shape.requests.set(by("").pods.counter, 1);
  const auto collectors = spread(a_set("collector", 2, ask(1)), by(kZone));
  CHECK(outcome({learners, collectors}, nodes) == "a:6 b:2");
}

// ---- against brute force

using Case = testing::SpreadCase;
using testing::count_pods;
using testing::is_kept;

bool fits(const Case& c) {
  testing::BruteForce search(c.members, c.nodes);
  const auto is_allowed = [&](std::size_t set, std::size_t node) {
    const kube::NodeConstraints constraints = c.members[set].shape.constraints.unpack();
    return kube::judge(*c.nodes[node].node, constraints) == kube::NodeFit::kAllowed;
  };
  return search.fits(is_allowed, [&] { return is_kept(c, search.count()); });
}

TEST_CASE("plan_spread places a gang exactly if an exhaustive search does",
          "[placement][spread][property]") {
  const unsigned seed = GENERATE(take(10, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  int possible = 0;
  int impossible = 0;
  for (int i = 0; i < 60; ++i) {
    const Case c = testing::random_spread_case(rng);
    INFO("case " << i);
    const Plan plan = plan_spread(c.members, c.nodes, {});
    const auto* placed = std::get_if<std::vector<Assignment>>(&plan);
    if (placed != nullptr) {
      std::size_t wanted = 0;
      for (const gang::MemberSet& set : c.members) wanted += set.slots.size();
      CHECK(placed->size() == wanted);
      CHECK(is_kept(c, count_pods(c, *placed)));
      ++possible;
    } else {
      CHECK_FALSE(fits(c));
      ++impossible;
    }
  }
  INFO(possible << " possible, " << impossible << " not");
  CHECK(possible > 10);
  CHECK(impossible > 10);
}

}  // namespace
}  // namespace nervex::placement::spreads
