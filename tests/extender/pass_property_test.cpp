// Random clusters, gangs and changes: what must hold of every pass.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <map>
#include <random>
#include <set>

#include "extender/pass.h"
#include "tests/support/gang_builders.h"

namespace nervex::extender {
namespace {

struct World {
  std::mt19937 rng;
  std::vector<gang::PodGroup> groups;
  Memory memory;

  int below(int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); }

  gang::PodGroup random_group(int i) {
    std::vector<gang::MemberSet> sets{testing::a_set("coordinator", 1, testing::ask(0, 2))};
    sets.push_back(testing::a_set("learner", 1 + below(3), testing::ask(1 + below(8), 4)));
    if (below(2) == 0) {
      sets.push_back(testing::in_gang(
          testing::a_set("collector", 1 + below(4), testing::ask(0, 1 + below(4))), "request-1"));
    }
    return testing::a_group("g" + std::to_string(i), std::move(sets), below(5), below(2));
  }

  std::vector<gang::NodeView> random_nodes() {
    std::vector<gang::NodeView> nodes;
    for (int i = 0; i < 6; ++i) {
      if (below(6) == 0) continue;  // gone
      auto node = testing::a_node("n" + std::to_string(i), i < 4 ? 8 : 0, 16);
      if (below(8) == 0) node = testing::not_ready(std::move(node));
      nodes.push_back(
          testing::view(std::move(node), testing::room(i < 4 ? below(6) : 0, below(6), 0)));
    }
    return nodes;
  }

  // Committed places are used room to a pass; plans that are not committed are its own business.
  Snapshot look(std::vector<gang::NodeView> nodes) const {
    Snapshot snapshot;
    for (const gang::PodGroup& group : groups) {
      snapshot.groups.push_back({std::make_shared<const gang::PodGroup>(group), false, {}});
      for (const gang::GangStatus& gang : group.status.gangs) {
        if (!gang.committed) continue;
        for (const gang::Placement& place : gang.placements) {
          for (gang::NodeView& view : nodes) {
            if (view.node->name == place.node && is_wanted(group, place)) {
              view.free -= requests_of(group, place);
            }
          }
        }
      }
    }
    snapshot.nodes = std::move(nodes);
    return snapshot;
  }

  static const kube::Resources& requests_of(const gang::PodGroup& group,
                                            const gang::Placement& place) {
    for (const gang::MemberSet& set : group.spec.members) {
      if (set.role == place.role) return set.requests;
    }
    throw std::out_of_range(place.role);
  }

  static bool is_wanted(const gang::PodGroup& group, const gang::Placement& place) {
    return std::any_of(group.spec.members.begin(), group.spec.members.end(), [&](const auto& set) {
      return set.role == place.role &&
             std::find(set.slots.begin(), set.slots.end(), place.slot) != set.slots.end();
    });
  }

  PassResult pass(const Snapshot& snapshot) {
    PassResult result = run_pass(snapshot, memory, SysTime(std::chrono::seconds(100)));
    for (const StatusWrite& write : result.writes) {
      for (gang::PodGroup& group : groups) {
        if (group.meta.uid == write.group->meta.uid) group.status = write.status;
      }
    }
    memory = result.memory;
    return result;
  }

  // The controller adds and takes away slots; the first bind commits gangs.
  void change() {
    for (gang::PodGroup& group : groups) {
      auto& slots = group.spec.members[1].slots;
      if (below(6) == 0) {
        slots[0].incarnation += 1;
        ++group.meta.generation;
      } else if (below(6) == 0) {
        slots.push_back({slots.back().ordinal + 1, 0});
        ++group.meta.generation;
      }
      for (gang::GangStatus& gang : group.status.gangs) {
        if (gang.planned && below(4) == 0) gang.committed = true;
      }
    }
  }
};

TEST_CASE("passes never overcommit, never place a gang in part, and settle",
          "[extender][pass][property]") {
  const auto seed = GENERATE(take(150, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  World world{std::mt19937(seed), {}, {}};
  for (int i = 0; i < 6; ++i) world.groups.push_back(world.random_group(i));
  std::map<std::pair<std::string, std::int64_t>, std::string> owner_of;  // of every number ever

  for (int step = 0; step < 12; ++step) {
    const auto nodes = world.random_nodes();
    world.pass(world.look(nodes));

    std::map<std::string, kube::Resources> planned;
    for (const gang::PodGroup& group : world.groups) {
      CHECK(group.status.observed_generation == group.meta.generation);
      for (const gang::GangStatus& gang : group.status.gangs) {
        std::size_t wanted = 0;
        for (const gang::MemberSet& set : group.spec.members) {
          if (set.gang == gang.name) wanted += set.slots.size();
        }
        CHECK((gang.planned ? gang.placements.size() == wanted
                            : gang.committed || gang.placements.empty()));
        for (const gang::Placement& place : gang.placements) {
          CHECK(place.number < group.status.next_placement);
          const std::string owner = place.role + "/" + std::to_string(place.slot.ordinal) + "/" +
                                    std::to_string(place.slot.incarnation) + "@" + place.node;
          const auto [known, is_new] = owner_of.try_emplace({group.meta.uid, place.number}, owner);
          CHECK(known->second == owner);  // a number means one slot on one node, for ever
          if (!gang.committed) planned[place.node] += World::requests_of(group, place);
        }
      }
    }
    const Snapshot after = world.look(nodes);
    for (const gang::NodeView& view : after.nodes) {
      if (planned.count(view.node->name) > 0) {
        CHECK(planned[view.node->name].fits_in(view.free));
        CHECK(view.node->ready);
        planned.erase(view.node->name);
      }
    }
    CHECK(planned.empty());  // nothing is planned on a node that is gone
    const PassResult again = world.pass(after);
    for (const StatusWrite& write : again.writes) {
      UNSCOPED_INFO(kube::to_text(gang::encode_status(write.group->status))
                    << "\n became " << kube::to_text(gang::encode_status(write.status)));
    }
    CHECK(again.writes.empty());
    world.change();
  }
}

}  // namespace
}  // namespace nervex::extender
