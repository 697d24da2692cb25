// Random clusters, gangs and changes: the rules after every cycle. The test adds up each node's
// load itself, in plain numbers.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "planner/scheduling_cycle.h"
#include "tests/support/gang_builders.h"

namespace nervex::planner {
namespace {

constexpr int kCores = 16;

struct Counts {  // how often each case occurred; see the end
  int committed = 0;
  int completed = 0;  // committed gangs that got a missing placement
  int requeued = 0;
  int merged = 0;
  int rejected = 0;
  int dropped = 0;  // plans that lost their placements
};

struct Use {
  std::int64_t gpus = 0;
  std::int64_t cores = 0;
  Use& operator+=(const Use& other) {
    gpus += other.gpus;
    cores += other.cores;
    return *this;
  }
};

// One node of the world, with what foreign pods use of it.
struct WorldNode {
  std::int64_t gpus = 0;
  bool is_deleted = false;
  bool is_ready = true;
  bool is_tainted = false;
  bool is_cordoned = false;
  Use foreign;

  bool lets_in() const { return !is_deleted && is_ready && !is_tainted && !is_cordoned; }
};

struct World {
  std::mt19937 rng;
  Counts& counts;
  std::vector<gang::PodGroup> groups;
  std::map<std::string, WorldNode> nodes;
  Reports reports;
  Rejections rejections;
  std::set<std::pair<std::string, std::int64_t>> unbound;  // placed since the last change()
  int made = 0;

  World(unsigned seed, Counts& totals) : rng(seed), counts(totals) {
    for (int i = 0; i < 6; ++i) nodes["n" + std::to_string(i)].gpus = i < 4 ? 8 : 0;
    for (int i = 0; i < 6; ++i) groups.push_back(random_group());
  }

  int below(std::size_t n) { return static_cast<int>(rng() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }

  gang::PodGroup random_group() {
    std::vector<testing::Member> sets{testing::a_set("coordinator", 1, testing::ask(0, 2))};
    sets.push_back(testing::a_set("learner", 1 + below(3), testing::ask(1 + below(8), 4)));
    const int growths = below(3);
    for (int id = 0; id < growths; ++id) {
      auto set = testing::in_request(testing::a_set("collector", 0, testing::ask(0, 2)), id);
      for (int i = 0; i <= below(3); ++i) set.slots.push_back({10 * id + i, 0});
      sets.push_back(std::move(set));
    }
    return testing::a_group("g" + std::to_string(made++), sets, below(5), below(2));
  }

  void change_nodes() {
    for (auto& [name, node] : nodes) {
      node.is_deleted = one_in(12);
      node.is_ready = !one_in(10);
      node.is_tainted = one_in(10);
      node.is_cordoned = one_in(10);
      if (one_in(3)) node.foreign = {below(static_cast<std::size_t>(node.gpus) + 1) / 2, below(6)};
    }
  }

  static const gang::MemberSet* find_member_set(const gang::PodGroup& group,
                                                const gang::Placement& placement) {
    for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
      const bool is_its = set.role == placement.role &&
                          std::count(set.slots.begin(), set.slots.end(), placement.slot) > 0;
      if (is_its) return &set;
    }
    return nullptr;
  }
  static Use gang_set_use(const gang::MemberSet& set) {
    return {set.shape.requests.get("nvidia.com/gpu"), set.shape.requests.get("cpu") / 1000};
  }

  // Of wanted slots, by node.
  std::map<std::string, Use> uses(bool committed) const {
    std::map<std::string, Use> sums;
    for (const gang::PodGroup& group : groups) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        if (gang.committed != committed) continue;
        for (const gang::Placement& placement : gang.placements) {
          if (const auto* set = find_member_set(group, placement))
            sums[placement.node] += gang_set_use(*set);
        }
      }
    }
    return sums;
  }

  // Committed placements count as used in a snapshot; the cycle subtracts other plans itself.
  Snapshot look() const {
    Snapshot snapshot;
    std::vector<placement::NodeView> views;
    const auto committed = uses(true);
    for (const auto& [name, node] : nodes) {
      if (node.is_deleted) continue;
      kube::Node shown = testing::a_node(name, node.gpus, kCores);
      shown.ready = node.is_ready;
      shown.unschedulable = node.is_cordoned;
      if (node.is_tainted) shown = testing::tainted(std::move(shown));
      Use used = node.foreign;
      if (committed.count(name) > 0) used += committed.at(name);
      views.push_back(testing::view(std::move(shown), testing::capacity(used.gpus, used.cores, 0)));
    }
    snapshot.nodes = views;
    for (const gang::PodGroup& group : groups) {
      GroupSeen& seen = snapshot.groups.emplace_back();
      seen.group = std::make_shared<const gang::PodGroup>(group);
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Placement& placement : gang.placements) {
          const bool is_unbound = unbound.count({group.meta.uid, placement.number}) > 0;
          if (gang.committed && is_unbound) seen.open.push_back({placement});
        }
      }
    }
    return snapshot;
  }

  // The API server may reject a write: nothing of it is stored.
  CycleResult cycle(bool may_reject) {
    CycleState state;
    state.reports = reports;
    state.rejections = rejections;
    CycleResult result = run_cycle(look(), CycleState(state), SysTime(std::chrono::seconds(100)));
    reports = result.state.reports;
    for (const StatusWrite& write : result.writes) {
      const std::string& uid = write.group->meta.uid;
      if (may_reject && one_in(8)) {
        ++counts.rejected;
        rejections[uid] = {
            one_in(2) ? Rejection::Extent::kNewGangs : Rejection::Extent::kNewPlacements,
            write.group->meta.generation,
            "too large",
            {}};
        std::erase_if(reports, [&](const auto& reported) { return reported.first.first == uid; });
        continue;
      }
      for (gang::PodGroup& group : groups) {
        if (group.meta.uid == uid) store(group, write.status);
      }
    }
    return result;
  }

  void store(gang::PodGroup& group, const gang::PodGroupStatus& status) {
    for (auto number = group.status.next_placement; number < status.next_placement; ++number) {
      unbound.emplace(group.meta.uid, number);
    }
    for (const gang::GangStatus& gang : group.status.gangs) {
      const auto* now = gang::find_gang(status, gang.name);
      if (now == nullptr) continue;
      if (gang.planned && !gang.committed && now->placements.empty()) ++counts.dropped;
      if (gang.committed && now->planned && now->placements != gang.placements) ++counts.completed;
    }
    group.status = status;
  }

  // The controller adds and takes away slots, merges and requeues; the first bind commits.
  void change() {
    unbound.clear();
    for (gang::PodGroup& group : groups) {
      for (gang::GangStatus& gang : group.status.gangs) {
        if (!gang.planned || gang.committed || !one_in(3)) continue;
        gang.committed = true;
        ++counts.committed;
      }
      if (one_in(3)) change_spec(group);
    }
  }

  void change_spec(gang::PodGroup& group) {
    auto& slots = testing::nth_set(group, 1).slots;
    ++group.meta.generation;
    switch (below(5)) {
      case 0:
        ++slots[0].incarnation;
        return;
      case 1:
        slots.push_back({slots.back().ordinal + 1, 0});
        return;
      case 2:
        return merge(group);
      case 3:  // the base gang: all of it
        ++counts.requeued;
        group = random_group();
        return;
      default:
        if (group.spec.gangs.size() < 2) return;
        ++counts.requeued;
        for (gang::SlotId& slot : group.spec.gangs.back().members[0].slots) ++slot.incarnation;
    }
  }

  void merge(gang::PodGroup& group) {
    auto& gangs = group.spec.gangs;
    if (gangs.size() < 3) return;
    const auto* into = gang::find_gang(group.status, gangs[1].name);
    const auto* from = gang::find_gang(group.status, gangs[2].name);
    if (into != nullptr && from != nullptr && into->committed && from->committed) ++counts.merged;
    auto& slots = gangs[1].members[0].slots;
    const auto& moved = gangs[2].members[0].slots;
    slots.insert(slots.end(), moved.begin(), moved.end());
    std::sort(slots.begin(), slots.end());
    gangs.erase(gangs.begin() + 2);
  }

  // ---- what must be true

  using SlotKey = std::tuple<std::string, std::string, int, int>;
  std::map<SlotKey, gang::Placement> committed_placements;
  std::map<std::pair<std::string, std::int64_t>, std::string>
      number_owners;  // of every number ever

  // `before`: the placements before the cycle that is checked.
  using Known = std::set<std::pair<std::string, std::int64_t>>;
  Known numbers() const {
    Known known;
    for (const gang::PodGroup& group : groups) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const auto& placement : gang.placements)
          known.emplace(group.meta.uid, placement.number);
      }
    }
    return known;
  }

  void check_nodes(const Known& before) const {
    const auto committed = uses(true);
    const auto planned = uses(false);
    std::map<std::string, Use> given = planned;  // what each node was given or kept
    for (const gang::PodGroup& group : groups) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Placement& placement : gang.placements) {
          if (before.count({group.meta.uid, placement.number}) > 0) continue;
          if (const auto* set = find_member_set(group, placement))
            given[placement.node] += gang_set_use(*set);
        }
      }
    }
    for (const auto& [name, use] : given) {
      INFO("node " << name);
      const WorldNode& node = nodes.at(name);
      CHECK(node.lets_in());
      Use sum = node.foreign;
      if (committed.count(name) > 0) sum += committed.at(name);
      if (planned.count(name) > 0) sum += planned.at(name);
      // Foreign pods may have come on top of what is committed: then it may get no more.
      if (use.gpus > 0) CHECK(sum.gpus <= node.gpus);
      if (use.cores > 0) CHECK(sum.cores <= kCores);
    }
  }

  void check_gangs() {
    for (const gang::PodGroup& group : groups) {
      std::map<std::string, std::size_t> wanted;
      for (const gang::Gang& gang : group.spec.gangs) {
        for (const gang::MemberSet& set : gang.members) wanted[gang.name] += set.slots.size();
      }
      const bool is_decided = group.status.observed_generation == group.meta.generation;
      CHECK((is_decided || rejections.count(group.meta.uid) > 0));
      for (const gang::GangStatus& gang : group.status.gangs) {
        INFO(group.meta.name << " " << gang.name);
        if (is_decided) {
          CHECK((gang.planned ? gang.placements.size() == wanted[gang.name]
                              : gang.committed || gang.placements.empty()));
        }
        for (const gang::Placement& placement : gang.placements)
          check_placement(group, gang, placement);
      }
      for (const auto& [key, placement] : committed_placements) {
        if (std::get<0>(key) != group.meta.uid || find_member_set(group, placement) == nullptr)
          continue;
        const auto* now = gang::find_placement(group.status, placement.role, placement.slot);
        REQUIRE(now != nullptr);
        CHECK(*now == placement);
        CHECK(gang::find_gang_with_slot(group.status, placement.role, placement.slot)->committed);
      }
    }
  }

  void check_placement(const gang::PodGroup& group, const gang::GangStatus& gang,
                       const gang::Placement& placement) {
    CHECK(placement.number < group.status.next_placement);
    const std::string owner = placement.role + "/" + std::to_string(placement.slot.ordinal) + "/" +
                              std::to_string(placement.slot.incarnation) + "@" + placement.node;
    const auto [known, is_new] =
        number_owners.try_emplace({group.meta.uid, placement.number}, owner);
    CHECK(known->second == owner);  // a number is never used for another slot or node
    if (!gang.committed) return;
    committed_placements.try_emplace(
        SlotKey(group.meta.uid, placement.role, placement.slot.ordinal, placement.slot.incarnation),
        placement);
  }
};

TEST_CASE("cycles never overcommit, place whole gangs only, and converge",
          "[extender][scheduling_cycle][property]") {
  const auto first_seed = GENERATE(take(1, random(0U, 1'000'000'000U)));
  Counts counts;
  for (unsigned seed = first_seed; seed < first_seed + 150; ++seed) {
    INFO("seed " << seed);
    World world(seed, counts);
    for (int step = 0; step < 12; ++step) {
      world.change_nodes();
      auto before = world.numbers();
      world.cycle(true);
      world.check_gangs();
      before = world.numbers();
      world.cycle(false);  // what was rejected says so
      world.check_nodes(before);
      world.check_gangs();
      const CycleResult again = world.cycle(false);
      for (const StatusWrite& write : again.writes) {
        UNSCOPED_INFO(kube::to_text(gang::encode_status(write.group->status))
                      << "\n became " << kube::to_text(gang::encode_status(write.status)));
      }
      CHECK(again.writes.empty());
      world.change();
    }
  }
  // Otherwise the above has tested little.
  INFO(counts.committed << " committed, " << counts.completed << " completed, " << counts.requeued
                        << " requeued, " << counts.merged << " merged, " << counts.rejected
                        << " rejected, " << counts.dropped << " dropped");
  CHECK(counts.committed > 500);
  CHECK(counts.completed > 50);
  CHECK(counts.requeued > 300);
  CHECK(counts.merged > 10);
  CHECK(counts.rejected > 100);
  CHECK(counts.dropped > 50);
}

}  // namespace
}  // namespace nervex::planner
