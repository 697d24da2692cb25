// Random clusters and gangs: what must be true of every plan, and how often a plan is missed.
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <map>
#include <random>
#include <set>

#include "gang/plan.h"
#include "tests/support/gang_builders.h"

namespace nervex::gang {
namespace {

struct Case {
  std::vector<MemberSet> members;
  std::vector<NodeView> nodes;
};

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

const MemberSet& set_of(const Case& c, const std::string& role) {
  for (const MemberSet& set : c.members) {
    if (set.role == role) return set;
  }
  throw std::out_of_range(role);
}

TEST_CASE("a plan names every slot once, on an allowed node, within what is free",
          "[gang][plan][property]") {
  const auto seed = GENERATE(take(500, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const Case c = random_case(rng, {4, 12, 12});
  const Plan plan = plan_gang(c.members, c.nodes);
  if (const auto* no_fit = std::get_if<NoFit>(&plan)) {
    CHECK(no_fit->unplaced > 0);
    CHECK(no_fit->unplaced <= no_fit->wanted);
    CHECK((!no_fit->never || no_fit->most < no_fit->wanted));
    return;
  }
  std::map<std::string, kube::Resources> used;
  std::set<std::pair<std::string, SlotId>> seen;
  for (const Assignment& a : std::get<std::vector<Assignment>>(plan)) {
    CHECK(seen.emplace(a.role, a.slot).second);
    used[a.node] += set_of(c, a.role).shape.requests;
    for (const NodeView& view : c.nodes) {
      if (view.node->name != a.node) continue;
      CHECK(kube::judge(*view.node, set_of(c, a.role).shape.constraints) ==
            kube::NodeFit::kAllowed);
    }
  }
  std::size_t wanted = 0;
  for (const MemberSet& set : c.members) wanted += set.slots.size();
  CHECK(seen.size() == wanted);
  for (const NodeView& view : c.nodes) CHECK(used[view.node->name].fits_in(view.free));
}

TEST_CASE("a plan depends neither on the order of the sets nor of the nodes",
          "[gang][plan][property]") {
  const auto seed = GENERATE(take(200, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const Case c = random_case(rng, {4, 8, 8});
  Case shuffled = c;
  std::shuffle(shuffled.members.begin(), shuffled.members.end(), rng);
  std::shuffle(shuffled.nodes.begin(), shuffled.nodes.end(), rng);
  for (MemberSet& set : shuffled.members) std::shuffle(set.slots.begin(), set.slots.end(), rng);
  CHECK(plan_gang(c.members, c.nodes) == plan_gang(shuffled.members, shuffled.nodes));
}

// Exhaustive: tries every node for every pod.
bool can_fit(const Case& c, std::vector<kube::Resources>& free, std::size_t set, std::size_t slot,
             std::size_t first_node) {
  if (set == c.members.size()) return true;
  const MemberSet& member = c.members[set];
  if (slot == member.slots.size()) return can_fit(c, free, set + 1, 0, 0);
  for (std::size_t i = first_node; i < c.nodes.size(); ++i) {  // pods of a set are alike
    if (kube::judge(*c.nodes[i].node, member.shape.constraints) != kube::NodeFit::kAllowed)
      continue;
    if (!member.shape.requests.fits_in(free[i])) continue;
    free[i] -= member.shape.requests;
    const bool fits = can_fit(c, free, set, slot + 1, i);
    free[i] += member.shape.requests;
    if (fits) return true;
  }
  return false;
}

TEST_CASE("plan_gang misses few gangs that an exhaustive search places", "[gang][plan][property]") {
  const unsigned seed = GENERATE(take(1, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  int possible = 0;
  int missed = 0;
  for (int i = 0; i < 4000; ++i) {
    const Case c = random_case(rng, {3, 3, 4});
    std::vector<kube::Resources> free;
    for (const NodeView& view : c.nodes) free.push_back(view.free);
    const bool fits = can_fit(c, free, 0, 0, 0);
    const bool planned = !std::holds_alternative<NoFit>(plan_gang(c.members, c.nodes));
    CHECK((fits || !planned));
    if (fits) ++possible;
    if (fits && !planned) ++missed;
  }
  INFO(missed << " of " << possible << " possible gangs missed");
  CHECK(possible > 400);
  CHECK(missed * 50 < possible);  // below two per cent
}

TEST_CASE("a gang that is said to never fit does not fit the empty cluster",
          "[gang][plan][property]") {
  const unsigned seed = GENERATE(take(4, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  int proofs = 0;
  for (int i = 0; i < 500; ++i) {
    Case c = random_case(rng, {3, 4, 3});
    const Plan plan = plan_gang(c.members, c.nodes);
    const auto* no_fit = std::get_if<NoFit>(&plan);
    if (no_fit == nullptr || !no_fit->never) continue;
    ++proofs;
    for (NodeView& view : c.nodes) {
      kube::Node node = *view.node;
      node.ready = true;
      view = testing::view(node);
    }
    CHECK(std::holds_alternative<NoFit>(plan_gang(c.members, c.nodes)));
  }
  CHECK(proofs > 20);
}

}  // namespace
}  // namespace nervex::gang
