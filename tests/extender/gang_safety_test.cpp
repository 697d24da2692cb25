// Random clusters, gangs, foreign pods, faults and stale caches: no node is ever filled beyond what
// it has, no pod of a gang runs whose gang was not committed as a whole, and no slot has two pods
// that run, however its incarnation changes.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using testing::Applied;
using testing::ask;
using testing::kNs;

struct Sim : testing::Cluster {
  std::mt19937 rng;
  int created = 0;

  explicit Sim(unsigned seed) : rng(seed) {
    for (int i = 0; i < 4; ++i) add_node("n" + std::to_string(i), i < 3 ? 8 : 0, 16);
    see();
  }

  int below(std::size_t n) { return static_cast<int>(rng() % n); }
  template <typename T>
  const T& any(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(from.size()))];
  }
  std::string any_node() { return "n" + std::to_string(below(4)); }

  std::vector<kube::Pod> live_pods() const {
    std::vector<kube::Pod> out;
    for (const Json& object : api.list(kube::kPods)) {
      out.push_back(*kube::decode_pod(kube::to_text(object), pod_filter()));
    }
    return out;
  }
  std::vector<gang::PodGroup> live_groups() const {
    std::vector<gang::PodGroup> out;
    for (const Json& object : api.list(kube::kPodGroups)) {
      out.push_back(*gang::decode_pod_group(object));
    }
    return out;
  }
  kube::Resources free_on(const std::string& node) const {
    kube::Resources free = testing::a_node(node, node == "n3" ? 0 : 8, 16).allocatable;
    for (const kube::Pod& pod : live_pods()) {
      if (pod.node == node && pod.occupies()) free -= pod.requests;
    }
    return free;
  }

  // ---- what the others do

  void submit() {
    std::vector sets{testing::a_set("coordinator", 1, ask(0, 1)),
                     testing::a_set("learner", 1 + below(3), ask(2 + below(7), 2))};
    if (below(2) == 0) {
      sets.push_back(
          testing::in_gang(testing::a_set("collector", 1 + below(3), ask(0, 2)), "request-1"));
    }
    ++created;
    add_group("g" + std::to_string(created), sets, created, below(3));
  }

  void end_job() {
    const auto all = live_groups();
    if (all.empty()) return;
    const gang::PodGroup& group = any(all);
    api.remove(kube::kPodGroups, kNs, group.meta.name);
    for (const kube::Pod& pod : live_pods()) {
      const auto slot = gang::slot_of(pod);
      if (slot && slot->pod_group_uid == group.meta.uid) {
        api.remove(kube::kPods, kNs, pod.meta.name);
      }
    }
  }

  // The controller changes a spec: a slot less, one more, or another incarnation of one.
  void reshape() {
    const auto all = live_groups();
    if (all.empty()) return;
    const gang::PodGroup& group = any(all);
    std::vector<gang::MemberSet> members = group.spec.members;
    std::vector<gang::SlotId>& slots =
        members[1 + static_cast<std::size_t>(below(members.size() - 1))].slots;
    gang::SlotId& slot = slots[static_cast<std::size_t>(below(slots.size()))];
    switch (below(3)) {
      case 0:
        if (slots.size() > 1) slots.pop_back();
        break;
      case 1:
        slots.push_back({slots.back().ordinal + 1, 0});
        break;
      default:
        ++slot.incarnation;
    }
    set_members(group.meta.name, members);
  }

  // A bound pod that its slot does not want any more goes, some time.
  void delete_superseded() {
    for (const kube::Pod& pod : live_pods()) {
      const auto slot = gang::slot_of(pod);
      if (!slot || pod.node.empty() || below(2) == 0) continue;
      for (const gang::PodGroup& group : live_groups()) {
        if (group.meta.uid != slot->pod_group_uid) continue;
        const bool is_wanted = std::any_of(
            group.spec.members.begin(), group.spec.members.end(), [&](const gang::MemberSet& set) {
              return set.role == slot->role &&
                     std::find(set.slots.begin(), set.slots.end(), slot->slot) != set.slots.end();
            });
        if (!is_wanted) api.remove(kube::kPods, kNs, pod.meta.name);
      }
    }
  }

  // Makes pods for places, and deletes unbound ones whose place was given up. Hasty as no
  // controller should be: a slot's next pod is made while the one before may still run.
  void control() {
    std::map<std::pair<std::string, std::int64_t>, std::string> pod_for;
    for (const kube::Pod& pod : live_pods()) {
      if (const auto slot = gang::slot_of(pod)) {
        pod_for[{slot->pod_group_uid, slot->placement}] = pod.node.empty() ? pod.meta.name : "";
      }
    }
    for (const gang::PodGroup& group : live_groups()) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Placement& place : gang.placements) {
          if (pod_for.count({group.meta.uid, place.number}) > 0) {
            pod_for.erase({group.meta.uid, place.number});
          } else if (api.get(kube::kPods, kNs, pod_name(group, place)).is_null()) {
            add_gang_pod(group, place);
          }
        }
      }
    }
    for (const auto& [place, name] : pod_for) {
      if (!name.empty()) api.remove(kube::kPods, kNs, name);
    }
  }

  static std::string pod_name(const gang::PodGroup& group, const gang::Placement& place) {
    return group.meta.name + "-" + place.role + "-" + std::to_string(place.slot.ordinal) + "-" +
           std::to_string(place.slot.incarnation);
  }

  // kube-scheduler with our extender: its own count of what is free, then filter, then bind.
  void schedule() {
    for (const kube::Pod& pod : live_pods()) {
      if (!pod.node.empty() || below(3) == 0) continue;
      std::vector<std::string> names;
      for (int i = 0; i < 4; ++i) {
        const std::string name = "n" + std::to_string(i);
        // For gangs the extender's own checks must do: the plugins say yes to everything.
        if (gang::slot_of(pod) || pod.requests.fits_in(free_on(name))) names.push_back(name);
      }
      if (names.empty()) continue;
      const kube::FilterResult result = filter(pod.meta.name, names);
      if (!result.node_names.empty()) bind(pod.meta.name, any(result.node_names));
      see_pods();  // the cache follows closely, else the plugins are what keeps a node from
                   // overflow
      check();
    }
  }

  void fault() {
    const Applied applied = below(2) == 0 ? Applied::kYes : Applied::kNo;
    const std::string method = below(2) == 0 ? "PATCH" : below(2) == 0 ? "GET" : "POST";
    if (method == "PATCH" && below(3) == 0) {
      api.fail_next("PATCH", "", {Code::kConflict, "conflict"}, Applied::kNo);
    } else {
      api.fail_next(method, "", {Code::kTransient, "timeout"}, applied);
    }
  }

  void step() {
    switch (below(14)) {
      case 0:
      case 1:
        return submit();
      case 2:
        return end_job();
      case 3:
        return add_plain_pod("plain" + std::to_string(created++), ask(below(4), 1));
      case 4:
        return set_ready(any_node(), below(3) > 0);
      case 5:
        return fault();
      case 6:
        return see_groups();
      case 7:
        return see_nodes();
      case 8:
        return clock.advance(std::chrono::milliseconds(below(500)));
      case 9:
        return planner.pass();
      case 10:
        return control();
      case 11:
        return schedule();
      case 12:
        return reshape();
      default:
        return delete_superseded();
    }
  }

  // ---- what must hold

  void check() const {
    std::map<std::string, gang::PodGroup> by_uid;
    for (const gang::PodGroup& group : live_groups()) by_uid[group.meta.uid] = group;
    std::set<std::pair<std::string, std::string>> slots;
    for (const kube::Pod& pod : live_pods()) {
      const auto slot = gang::slot_of(pod);
      if (!slot || pod.node.empty()) continue;
      INFO("pod " << pod.meta.name);
      CHECK(slots.emplace(slot->pod_group_uid, gang::slot_key(slot->role, slot->slot.ordinal))
                .second);
      const auto group = by_uid.find(slot->pod_group_uid);
      if (group == by_uid.end()) continue;
      const auto* place = gang::find_placement(group->second.status, slot->role, slot->slot);
      if (place == nullptr) continue;  // given up while it ran
      CHECK(place->number == slot->placement);
      CHECK(place->node == pod.node);
      CHECK(gang::gang_of(group->second.status, slot->role, slot->slot)->committed);
    }
    for (int i = 0; i < 4; ++i) {
      const std::string name = "n" + std::to_string(i);
      INFO("node " << name);
      const kube::Resources free = free_on(name);
      for (const kube::ResourceAmount& left : free.amounts()) {
        INFO(left.name);
        CHECK(left.amount >= 0);
      }
    }
  }

  // No more faults: until nothing changes.
  void settle() {
    for (int i = 0; i < 4; ++i) set_ready("n" + std::to_string(i), true);
    for (int i = 0; i < 12; ++i) {
      clock.advance(std::chrono::minutes(2));
      see();
      planner.pass();
      control();
      delete_superseded();
      see();
      for (int round = 0; round < 3; ++round) schedule();
    }
  }
};

TEST_CASE("gangs start as a whole and nodes never overflow", "[extender][sim][property]") {
  const auto seed = GENERATE(take(20, random(0U, 1'000'000'000U)));
  INFO("seed " << seed);
  Sim sim(seed);
  for (int i = 0; i < 150; ++i) {
    sim.step();
    sim.check();
  }
  sim.settle();
  sim.check();
  std::set<std::pair<std::string, std::int64_t>> bound;
  for (const kube::Pod& pod : sim.live_pods()) {
    const auto slot = gang::slot_of(pod);
    if (slot && !pod.node.empty()) bound.emplace(slot->pod_group_uid, slot->placement);
  }
  CHECK(sim.plans.in_doubt().empty());
  for (const gang::PodGroup& group : sim.live_groups()) {
    for (const gang::GangStatus& gang : group.status.gangs) {
      INFO(group.meta.name << " " << gang.name << " " << gang.message);
      CHECK((gang.committed || !gang.planned));
      for (const gang::Placement& place : gang.placements) {
        CHECK(bound.count({group.meta.uid, place.number}) == 1);
      }
    }
  }
}

}  // namespace
}  // namespace nervex::extender
