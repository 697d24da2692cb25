// A PodGroup's status that a user cleared is restored from the pods.
#include "planner/recovery/restored.h"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/extender/cluster.h"

namespace nervex::extender::restored_test {
namespace {

using testing::a_set;
using testing::ask;
using testing::coordinator;
using testing::in_request;
using testing::kNs;
using testing::list_members;
using testing::Member;

struct LostStatus : testing::ExtenderCluster {
  std::vector<std::string> names;

  LostStatus() {
    for (const char* node : {"n1", "n2", "n3"}) add_node(node, 8);
  }
  void add(const std::vector<Member>& members) {
    add_group("a", members);
    cycle();
  }
  void cycle() {
    see();
    planner.schedule_once();
    see();
  }
  void create_pods(std::string_view gang = gang::kBaseGang) {
    names = add_gang_pods("a", gang);
    cycle();
  }
  void bind_all(std::string_view gang = gang::kBaseGang) {
    create_pods(gang);
    auto places = placements(gang);
    std::reverse(places.begin(), places.end());  // the coordinator comes last
    for (const auto& placement : places) {
      see_pods();
      REQUIRE(bind(placement_pod_name(placement), placement.node).empty());
    }
    cycle();
  }
  static std::string placement_pod_name(const gang::Placement& placement) {
    return "a-" + placement.role + "-" + std::to_string(placement.slot.ordinal) + "-" +
           std::to_string(placement.slot.incarnation);
  }
  void wipe() { api.change(kube::kPodGroups, kNs, "a", {{"status", nullptr}}); }
  gang::PodGroupStatus status() const { return group("a").status; }
  std::vector<gang::Placement> placements(std::string_view gang = gang::kBaseGang) const {
    return gang::find_gang(group("a").status, gang)->placements;
  }
};

std::int64_t lowest(const std::vector<gang::Placement>& placements) {
  std::int64_t number = INT64_MAX;
  for (const auto& one : placements) number = std::min(number, one.number);
  return number;
}

TEST_CASE("the status of a gang that runs is restored as it was", "[extender][restored]") {
  LostStatus c;
  c.add({coordinator(), a_set("learner", 2, ask(8))});
  c.bind_all();
  const auto before = c.status();
  REQUIRE(before.gangs[0].committed);
  SECTION("all of it was emptied") { c.wipe(); }
  SECTION("while a node is not Ready for a moment") {
    c.set_ready(before.gangs[0].placements[1].node, false);
    c.wipe();
  }
  SECTION("a worker has finished") {
    c.api.change(kube::kPods, kNs, c.names[1], {{"status", {{"phase", "Succeeded"}}}});
    c.wipe();
  }
  c.cycle();
  CHECK(c.placements() == before.gangs[0].placements);
  CHECK(c.status().gangs[0].committed);
  CHECK(c.status().gangs[0].planned);
  CHECK(c.status().next_placement == before.next_placement);
  CHECK(c.status().observed_generation == before.observed_generation);
  const auto writes = c.api.writes().size();
  c.cycle();
  CHECK(c.api.writes().size() == writes);
}

TEST_CASE("the only pod of a gang is enough to restore its status", "[extender][restored]") {
  LostStatus c;
  c.add({coordinator()});
  c.bind_all();
  const auto before = c.status();
  c.wipe();
  LostStatus after;
  after.see_nodes();
  after.api.add(kube::kPodGroups, kNs, c.api.get(kube::kPodGroups, kNs, "a"));
  after.see_groups();
  after.api.add(kube::kPods, kNs, c.api.get(kube::kPods, kNs, c.names[0]));
  after.cycle();
  CHECK(after.placements() == before.gangs[0].placements);
  CHECK(after.status().gangs[0].committed);
}

TEST_CASE("a new leader restores the status, too, and sees pods after the PodGroup",
          "[extender][restored]") {
  LostStatus c;
  c.add({coordinator(), a_set("learner", 2, ask(8))});
  c.bind_all();
  const auto before = c.status();
  c.wipe();
  LostStatus after;
  after.see_nodes();
  after.api.add(kube::kPodGroups, kNs, c.api.get(kube::kPodGroups, kNs, "a"));
  after.see_groups();
  for (const std::string& name : c.names) {
    after.api.add(kube::kPods, kNs, c.api.get(kube::kPods, kNs, name));
  }
  after.cycle();
  CHECK(after.placements() == before.gangs[0].placements);
  CHECK(after.status().gangs[0].committed);
}

TEST_CASE("what waits or has no bound pod is planned again, under numbers that were never used",
          "[extender][restored]") {
  LostStatus c;
  const auto set = a_set("learner", 2, ask(8));
  SECTION("it waits") {
    c.add({a_set("learner", 4, ask(8))});
    REQUIRE(c.planned_nodes("a") == "waits");
    c.wipe();
    c.cycle();
    CHECK(c.planned_nodes("a") == "waits");
    c.add_node("n4", 8);
    c.cycle();
    CHECK(c.planned_nodes("a") == "n1 n2 n3 n4");
  }
  SECTION("it is planned") {
    c.add({set});
    c.wipe();
    c.cycle();
    CHECK(c.planned_nodes("a") == "n1 n2");
    CHECK(lowest(c.placements()) == 3);
  }
  SECTION("its pods were created, and another leader sees it") {
    c.add({set});
    c.create_pods();
    c.wipe();
    LostStatus after;
    after.api.add(kube::kPodGroups, kNs, c.api.get(kube::kPodGroups, kNs, "a"));
    for (const std::string& name : c.names) {
      after.api.add(kube::kPods, kNs, c.api.get(kube::kPods, kNs, name));
    }
    after.cycle();
    CHECK(after.planned_nodes("a") == "n1 n2");
    CHECK(lowest(after.placements()) == 3);
  }
  SECTION("its pods are gone, and the controller has seen their numbers") {
    c.add({set});
    c.api.change(kube::kPodGroups, kNs, "a", {{"spec", {{"highestPlacement", 40}}}});
    c.wipe();
    c.cycle();
    CHECK(lowest(c.placements()) == 41);
  }
}

TEST_CASE("of a gang that is partly bound the rest is planned again beside it",
          "[extender][restored]") {
  LostStatus c;
  c.add({a_set("learner", 3, ask(8))});
  c.create_pods();
  const auto before = c.placements();
  REQUIRE(c.bind(c.names[0], before[0].node).empty());
  REQUIRE(c.bind(c.names[1], before[1].node).empty());
  c.see();
  c.wipe();
  c.cycle();
  const auto after = c.placements();
  REQUIRE(after.size() == 3);
  CHECK(c.status().gangs[0].committed);
  CHECK(after[0] == before[0]);
  CHECK(after[1] == before[1]);
  CHECK(after[2].node == before[2].node);
  CHECK(after[2].number == 4);
}

TEST_CASE("a gang that is healed keeps what runs", "[extender][restored]") {
  LostStatus c;
  c.add({a_set("learner", 2, ask(8))});
  c.bind_all();
  const auto before = c.placements();
  c.api.remove(kube::kPods, kNs, c.names[1]);
  auto members = list_members(c.group("a"));
  ++members[0].slots[1].incarnation;
  c.set_members("a", members);
  c.wipe();
  c.cycle();
  const auto after = c.placements();
  REQUIRE(after.size() == 2);
  CHECK(after[0] == before[0]);
  CHECK(after[1].number == 3);
  CHECK(c.status().gangs[0].committed);
}

TEST_CASE("requested replicas and reserved capacity come back", "[extender][restored]") {
  LostStatus c;
  c.add_node("n4", 8);
  auto learners = a_set("learner", 1, ask(8));
  learners.reserved_pods = 1;
  auto requested = in_request(a_set("collector", 2, ask(0)), 1);
  c.add({learners, requested});
  c.bind_all();
  c.bind_all("request-1");
  const auto before = c.status();
  REQUIRE(before.gangs.size() == 2);
  REQUIRE(before.gangs[0].reserved.size() == 1);
  c.wipe();
  c.cycle();
  const auto after = c.status();
  REQUIRE(after.gangs.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(after.gangs[i].name == before.gangs[i].name);
    CHECK(after.gangs[i].placements == before.gangs[i].placements);
    CHECK(after.gangs[i].committed);
  }
  CHECK(after.gangs[0].reserved.size() == 1);
  CHECK(after.gangs[0].reserved[0].count == 1);
}

TEST_CASE("filter of a replica whose PodGroups are older than its pods asks for another try",
          "[extender][restored]") {
  LostStatus c;
  c.add({coordinator(), a_set("learner", 2, ask(8))});
  const Json unplanned = [&c] {
    Json group = c.api.get(kube::kPodGroups, kNs, "a");
    group.erase("status");
    return group;
  }();
  c.create_pods();
  LostStatus behind;
  behind.see_nodes();
  const auto see = [&] {
    behind.api.add(kube::kPodGroups, kNs, unplanned);
    for (const std::string& name : c.names) {
      behind.api.add(kube::kPods, kNs, c.api.get(kube::kPods, kNs, name));
    }
    behind.see_pods();
    behind.see_groups();
  };
  SECTION("none is bound") { see(); }
  SECTION("one is") {
    REQUIRE(c.bind(c.names[1], c.placements()[1].node).empty());
    see();
  }
  const auto result = behind.filter(c.names[0], {"n1", "n2", "n3"});
  REQUIRE(behind.cache.planner.has_group(c.group("a").meta.uid));
  CHECK(result.failed_and_unresolvable.empty());
  CHECK(result.error.find("was not seen yet, retrying") != std::string::npos);
}

TEST_CASE("a pod that was bound by hand commits no waiting gang", "[extender][restored]") {
  LostStatus c;
  c.add_group("a", {coordinator(), a_set("learner", 4, ask(8))});
  c.cycle();
  REQUIRE(c.planned_nodes("a") == "waits");
  c.add_gang_pod(c.group("a"), {"learner", {0, 0}, "n1", 2});
  c.see_pods();
  const auto name = c.add_gang_pod(c.group("a"), {"coordinator", {0, 0}, "n1", 1});
  c.api.change(kube::kPods, kNs, name, {{"spec", {{"nodeName", "n1"}}}});
  c.cycle();
  CHECK_FALSE(c.status().gangs[0].committed);
  CHECK(c.planned_nodes("a") == "waits");
}

// A replica that a POST has just requested, and a pod that its user has marked as it.
TEST_CASE("a pod that was bound by hand commits no gang that a live status lacks",
          "[extender][restored][marks]") {
  LostStatus c;
  c.add({coordinator()});
  c.bind_all();
  c.add_plain_pod("other-1", ask(8), "n1");
  c.add_plain_pod("other-2", ask(8), "n2");
  c.add_plain_pod("other-3", ask(8), "n3");
  const gang::Placement forged{"collector", {4096, 0}, "n2", 1'000};
  const std::string name = c.add_gang_pod(c.group("a"), forged);
  c.api.change(kube::kPods, kNs, name, {{"spec", {{"nodeName", "n2"}}}});
  c.see_pods();
  auto requested = in_request(a_set("collector", 2, ask(8)), 1);
  requested.slots = {{4096, 0}, {4097, 0}};
  c.set_members("a", {coordinator(), requested});
  c.cycle();
  const gang::PodGroupStatus status = c.status();
  REQUIRE(status.gangs.size() == 2);
  CHECK_FALSE(status.gangs[1].committed);
  CHECK(status.gangs[1].placements.empty());
}

TEST_CASE("no pod makes placement numbers overflow", "[extender][restored]") {
  LostStatus c;
  c.add_group("a", {a_set("learner", 4, ask(8))});
  c.cycle();
  c.add_gang_pod(c.group("a"), {"learner", {0, 0}, "n1", INT64_MAX - 1});
  c.see_pods();
  c.api.change(kube::kPodGroups, kNs, "a", {{"spec", {{"queuedSince", "2026-01-01T00:00:00Z"}}}});
  c.add_node("n4", 8);
  c.cycle();
  CHECK(c.planned_nodes("a") == "n1 n2 n3 n4");
  CHECK(lowest(c.placements()) > 0);
  CHECK(c.status().next_placement < (std::int64_t{1} << 60));
}

}  // namespace
}  // namespace nervex::extender::restored_test
