// Random clusters and gangs: the rules for every plan, and that no possible plan is missed.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <map>
#include <random>
#include <set>

#include "kube/model/anti_affinity.h"
#include "placement/plan.h"
#include "tests/placement/brute_force.h"
#include "tests/support/gang_builders.h"

namespace nervex::placement {
namespace {

struct Case {
  std::vector<gang::MemberSet> members;
  std::vector<NodeView> nodes;
  std::vector<NodeLimit> limits{};
};

bool gave_up(const gang::NoFit& no_fit) {
  const auto* cause = std::get_if<gang::InsufficientCapacity>(&no_fit);
  return cause != nullptr && cause->search_gave_up;
}

struct Size {
  unsigned sets, slots, nodes;
};

Case random_case(std::mt19937& rng, Size size) {
  const auto below = [&rng](unsigned n) { return static_cast<int>(rng() % n); };
  Case out;
  const char* const roles[] = {"coordinator", "collector", "learner", "aggregator"};
  for (unsigned i = 0; i < 1 + rng() % size.sets; ++i) {
    auto set =
        testing::a_set(roles[i], 1 + below(size.slots), testing::ask(below(5), 1 + below(8)));
    if (below(4) == 0) set = testing::selecting(std::move(set), "zone", "a");
    if (below(6) == 0) set = testing::on_port(std::move(set), 80 + below(2));
    if (below(6) == 0) set = testing::preferring(std::move(set), "zone", 1);
    out.members.push_back(std::move(set));
  }
  for (unsigned i = 0; i < 1 + rng() % size.nodes; ++i) {
    auto node = testing::a_node("n" + std::to_string(i), below(3) == 0 ? 0 : 8, 4 + below(16));
    if (below(2) == 0) node = testing::labelled(std::move(node), "zone", "a");
    if (below(8) == 0) node = testing::tainted(std::move(node));
    if (below(8) == 0) node = testing::not_ready(std::move(node));
    const auto gpus = node.allocatable.get("nvidia.com/gpu");
    out.nodes.push_back(testing::view(
        std::move(node), testing::capacity(gpus == 0 ? 0 : below(6), below(6), 100 + below(8))));
  }
  return out;
}

const gang::MemberSet& find_role_set(const Case& c, const std::string& role) {
  for (const gang::MemberSet& set : c.members) {
    if (set.role == role) return set;
  }
  throw std::out_of_range(role);
}

// Every slot once, on an allowed node, within what is free and within the limits.
void check_plan(const Case& c, const std::vector<Assignment>& plan) {
  std::map<std::string, kube::Resources> used;
  std::map<std::pair<std::string, std::string>, int> on_node;
  std::map<std::pair<std::string, std::string>, int> in_domain;  // by resource and label
  std::set<std::pair<std::string, gang::SlotId>> seen;
  for (const Assignment& a : plan) {
    CHECK(seen.emplace(a.role, a.slot).second);
    const gang::MemberSet& set = find_role_set(c, a.role);
    used[a.node] += set.shape.requests;
    ++on_node[{set.name, a.node}];
    for (const NodeView& view : c.nodes) {
      if (view.node->name != a.node) continue;
      CHECK(kube::judge(*view.node, set.shape.constraints.unpack()) == kube::NodeFit::kAllowed);
      for (const auto& [resource, amount] : set.shape.requests.amounts()) {
        const auto label = view.node->labels.find(kube::parse_topology_key(resource));
        if (label == view.node->labels.end()) continue;
        const auto& value = label->second.str();
        CHECK(++in_domain[{resource, value}] == 1);
      }
    }
  }
  std::size_t wanted = 0;
  for (const gang::MemberSet& set : c.members) wanted += set.slots.size();
  CHECK(seen.size() == wanted);
  for (const NodeView& view : c.nodes) CHECK(used[view.node->name].fits_in(view.free));
  for (const NodeLimit& limit : c.limits) {
    CHECK(on_node[{limit.set, limit.node}] <= std::max(0, limit.at_most));
  }
}

TEST_CASE("a plan names every slot once, on an allowed node, within what is free",
          "[placement][plan][property]") {
  const auto seed = GENERATE(take(500, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const Case c = random_case(rng, {4, 12, 12});
  const Plan plan = plan_gang(c.members, c.nodes);
  if (const auto* no_fit = std::get_if<gang::NoFit>(&plan)) {
    const gang::UnplacedSet& set = *gang::find_set(*no_fit);
    CHECK(set.unplaced > 0);
    CHECK(set.unplaced <= set.wanted);
    if (const auto* never = std::get_if<gang::NeverFits>(no_fit)) CHECK(never->most < set.wanted);
    return;
  }
  check_plan(c, std::get<std::vector<Assignment>>(plan));
}

// ---- against brute force

// Everything that restricts a gang, on a cluster that is nearly too small for it.
Case tight_case(std::mt19937& rng) {
  const auto below = [&rng](unsigned n) { return static_cast<int>(rng() % n); };
  Case out;
  const char* const roles[] = {"coordinator", "collector", "learner", "aggregator"};
  const int kind = below(4);  // 0: capacity alone; 1: labels; 2: ports and anti-affinity; 3: all
  const int sets = 1 + below(4);
  const int nodes = 1 + std::max(below(8), below(8));
  for (int i = 0; i < sets; ++i) {
    const int slots = 1 + below(sets <= 2 ? 6 : sets == 3 ? 4 : 3);
    auto set = testing::a_set(roles[i], slots, testing::ask(below(6), 1 + below(6)));
    if (kind % 2 == 1 && below(3) == 0) {
      set = testing::selecting(std::move(set), "disk", below(2) == 0 ? "ssd" : "hdd");
    }
    if (kind >= 2 && below(3) == 0) set = testing::on_port(std::move(set), 80 + below(2));
    if (kind >= 2 && below(4) == 0) set = testing::apart_by(std::move(set), "zone");
    if (kind >= 2 && below(4) == 0) {
      set = testing::apart_by(std::move(set), std::string(kube::kHostname));
    }
    if (kind >= 2 && below(6) == 0) set = testing::apart_by(std::move(set), "rack");
    if (below(6) == 0) set = testing::preferring(std::move(set), "disk", 1 + below(3));
    out.members.push_back(std::move(set));
  }
  for (int i = 0; i < nodes; ++i) {
    auto node = testing::a_node("n" + std::to_string(i), below(4) == 0 ? 0 : 8, 4 + below(12));
    if (below(2) == 0) {
      node = testing::labelled(std::move(node), "disk", below(2) == 0 ? "ssd" : "hdd");
    }
    if (below(4) != 0) {
      node = testing::labelled(std::move(node), "zone", std::string(1, "abc"[below(3)]));
    }
    if (below(2) == 0) node = testing::labelled(std::move(node), "rack", below(2) == 0 ? "1" : "2");
    if (below(12) == 0) node = testing::tainted(std::move(node));
    if (below(12) == 0) node = testing::not_ready(std::move(node));
    kube::Resources used = testing::capacity(below(3), below(4), 100 + below(9));
    if (kind >= 2 && below(5) == 0) used.set(kube::host_port("TCP", 80), 1);
    if (kind >= 2 && below(8) == 0) used.set("podAntiAffinity:zone#1", 1);
    out.nodes.push_back(testing::view(std::move(node), used));
    if (below(6) == 0) {
      out.limits.push_back({roles[below(4)], "n" + std::to_string(i), below(3)});
    }
  }
  return out;
}

TEST_CASE("a plan depends neither on the order of the sets nor of the nodes",
          "[placement][plan][property]") {
  const auto seed = GENERATE(take(400, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const Case c = seed % 2 == 0 ? random_case(rng, {4, 8, 8}) : tight_case(rng);
  Case shuffled = c;
  std::shuffle(shuffled.members.begin(), shuffled.members.end(), rng);
  std::shuffle(shuffled.nodes.begin(), shuffled.nodes.end(), rng);
  for (gang::MemberSet& set : shuffled.members)
    std::shuffle(set.slots.begin(), set.slots.end(), rng);
  std::shuffle(shuffled.limits.begin(), shuffled.limits.end(), rng);
  CHECK(plan_gang(c.members, c.nodes, c.limits) ==
        plan_gang(shuffled.members, shuffled.nodes, shuffled.limits));
}

// A gang with limits, and pods that keep apart by a label.
class LimitedGang {
 public:
  explicit LimitedGang(const Case& c) : case_(c), search_(c.members, c.nodes) {}
  bool fits() {
    return search_.fits([this](std::size_t set, std::size_t node) { return is_allowed(set, node); },
                        [] { return true; });
  }

 private:
  bool is_allowed(std::size_t set, std::size_t node) const {
    const gang::MemberSet& member = case_.members[set];
    const kube::Node& on = *case_.nodes[node].node;
    if (kube::judge(on, member.shape.constraints.unpack()) != kube::NodeFit::kAllowed) return false;
    for (const NodeLimit& limit : case_.limits) {
      const bool is_its = limit.set == member.name && limit.node == on.name;
      if (is_its && search_.count()[set][node] >= limit.at_most) return false;
    }
    for (const auto& [resource, amount] : member.shape.requests.amounts()) {
      const std::string_view key = kube::parse_topology_key(resource);
      if (key.empty() || on.labels.count(key) == 0) continue;
      for (std::size_t other = 0; other < search_.free().size(); ++other) {
        const auto& labels = case_.nodes[other].node->labels;
        const auto label = labels.find(key);
        if (label == labels.end() || !(label->second == on.labels.find(key)->second)) continue;
        if (search_.free()[other].get(resource) < 0) return false;
      }
    }
    return true;
  }

  const Case& case_;
  testing::BruteForce search_;
};

// Every node with nothing on it, ready, not cordoned, without taints; no limits.
Case emptied(Case c) {
  for (NodeView& view : c.nodes) {
    kube::Node node = *view.node;
    node.ready = true;
    node.unschedulable = false;
    node.taints = {};
    view = testing::view(std::move(node));
  }
  c.limits.clear();
  return c;
}

TEST_CASE("plan_gang places a gang exactly if an exhaustive search does",
          "[placement][plan][property]") {
  const unsigned seed = GENERATE(take(10, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  int possible = 0;
  int impossible = 0;
  int never = 0;
  int together = 0;
  for (int i = 0; i < 500; ++i) {
    const Case c = tight_case(rng);
    INFO("case " << i);
    const Plan plan = plan_gang(c.members, c.nodes, c.limits);
    const bool fits = LimitedGang(c).fits();
    const auto* no_fit = std::get_if<gang::NoFit>(&plan);
    CHECK((no_fit == nullptr) == fits);
    ++(fits ? possible : impossible);
    if (no_fit == nullptr) {
      check_plan(c, std::get<std::vector<Assignment>>(plan));
      continue;
    }
    CHECK_FALSE(gave_up(*no_fit));
    const bool fits_empty = LimitedGang(emptied(c)).fits();
    // Where no node is allowed, that is said, and no proof is needed.
    const bool is_proof = gang::is_proof(*no_fit);
    if (gang::find_need(*no_fit) != nullptr) CHECK(is_proof == !fits_empty);
    if (fits_empty) CHECK_FALSE(is_proof);
    if (is_proof) ++never;
    if (!std::holds_alternative<gang::NeverFitsTogether>(*no_fit)) continue;
    ++together;
    for (const gang::MemberSet& member : c.members) {
      Case alone = emptied(c);
      alone.members = {member};
      CHECK(LimitedGang(alone).fits());
    }
  }
  INFO(possible << " possible, " << impossible << " not, " << never << " never, of them "
                << together << " together");
  CHECK(possible > 80);
  CHECK(impossible > 80);
  CHECK(never > 40);
  CHECK(together > 5);
}

TEST_CASE("a search that may do nothing gives up and says so", "[placement][plan][property]") {
  const unsigned seed = GENERATE(take(2, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  int given_up = 0;
  for (int i = 0; i < 2000; ++i) {
    const Case c = tight_case(rng);
    for (const std::int64_t steps : {0, 3, 30}) {
      const Plan plan = plan_gang(c.members, c.nodes, c.limits, {steps});
      CHECK(plan == plan_gang(c.members, c.nodes, c.limits, {steps}));
      const auto* no_fit = std::get_if<gang::NoFit>(&plan);
      if (no_fit == nullptr) {
        check_plan(c, std::get<std::vector<Assignment>>(plan));
        continue;
      }
      if (gave_up(*no_fit)) ++given_up;
      if (!gave_up(*no_fit)) {
        CHECK(std::holds_alternative<gang::NoFit>(plan_gang(c.members, c.nodes, c.limits)));
      }
    }
  }
  INFO(given_up << " times");
  CHECK(given_up > 5);
}

TEST_CASE("a gang that is said to never fit does not fit the empty cluster",
          "[placement][plan][property]") {
  const unsigned seed = GENERATE(take(4, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  int proofs = 0;
  for (int i = 0; i < 500; ++i) {
    Case c = random_case(rng, {3, 4, 3});
    const Plan plan = plan_gang(c.members, c.nodes);
    const auto* no_fit = std::get_if<gang::NoFit>(&plan);
    if (no_fit == nullptr || !gang::is_proof(*no_fit)) continue;
    ++proofs;
    c = emptied(std::move(c));
    CHECK(std::holds_alternative<gang::NoFit>(plan_gang(c.members, c.nodes)));
  }
  CHECK(proofs > 20);
}

}  // namespace
}  // namespace nervex::placement
