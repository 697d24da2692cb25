// Random clusters, gangs, foreign pods, faults and stale caches: no node is ever filled beyond what
// it has, no pod of a gang runs whose gang was not committed as a whole, no committed placement
// moves, and no slot has two pods that run, however its incarnation and its gang change.
//
// What must hold is added up from the API server's objects alone, not by the extender's own code.
// kube-scheduler knows host ports, which the PodGroups here do not name: with held binds a gang
// starts whole all the same, or nothing of it does. That all of a gang runs is only checked at the
// end, without faults.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "tests/extender/cluster.h"
#include "tests/extender/held_binds.h"
#include "tests/support/sanitized.h"

namespace nervex::extender {
namespace {

using testing::Applied;
using testing::ask;
using testing::kNs;

constexpr int kNodes = 4;
constexpr int kPort = 8080;

// How often what the test is about has happened.
struct Counts {
  int committed = 0;
  int rejected_commits = 0;
  int requeued = 0;
  int requeued_committed = 0;
  int merged = 0;
  int port_conflicts = 0;
  int foreign_bound = 0;
  int refused = 0;       // pods, by kube-scheduler
  int held_in_vain = 0;  // binds
  int given_up = 0;      // gangs
  int moved = 0;         // committed placements whose pod was not bound
};

// cpu in thousandths, everything else in ones; what the tests write has no other units.
std::int64_t amount_of(const std::string& resource, const Json& quantity) {
  const std::string text = quantity.is_string() ? quantity.get<std::string>() : quantity.dump();
  const bool is_milli = text.back() == 'm';
  const std::int64_t number = std::stoll(is_milli ? text.substr(0, text.size() - 1) : text);
  if (is_milli && resource != "cpu") throw std::invalid_argument(text);
  return resource == "cpu" && !is_milli ? number * 1000 : number;
}

using Sums = std::map<std::string, std::int64_t>;

Sums requests_of(const Json& pod) {
  Sums sums{{"pods", 1}};
  for (const Json& container : pod["spec"]["containers"]) {
    for (const auto& [name, quantity] : container["resources"]["requests"].items()) {
      sums[name] += amount_of(name, quantity);
    }
  }
  return sums;
}

std::string text_at(const Json& object, const std::string& pointer) {
  const Json::json_pointer at(pointer);
  return object.contains(at) ? object[at].get<std::string>() : "";
}
std::string bound_to(const Json& pod) { return text_at(pod, "/spec/nodeName"); }
bool occupies(const Json& pod) {
  const std::string phase = text_at(pod, "/status/phase");
  return !bound_to(pod).empty() && phase != "Succeeded" && phase != "Failed";
}
bool has_port(const Json& pod) { return pod["spec"]["containers"][0].contains("ports"); }

struct Sim : testing::Cluster {
  using SlotKey = std::tuple<std::string, std::string, int, int>;  // uid, role, slot
  std::mt19937 rng;
  // Of kube-scheduler: does its own count of the node say no, too? Where it does not, what keeps
  // a node from overflow is the extender alone; where it does, other schedulers' pods may come.
  const bool scheduler_counts;
  Counts& counts;
  int created = 0;
  bool caches_are_fresh = false;  // binds see all changes
  std::map<SlotKey, std::pair<std::string, std::int64_t>> committed_placements;
  std::set<std::pair<std::string, std::string>> committed_gangs;  // ever; uid and gang

  testing::HeldBinds held{binder, holds};
  const bool holds_binds;  // else gangs start with their first bind, as large ones do

  Sim(unsigned seed, Counts& totals)
      : testing::Cluster({.largest_gang = seed % 3 == 0 ? 0U : 1000U}, false),
        rng(seed),
        scheduler_counts(seed % 2 == 0),
        counts(totals),
        holds_binds(seed % 3 != 0) {
    for (int i = 0; i < kNodes; ++i) add_node(node_name(i), gpus(i), 16);
    see();
  }

  static std::string node_name(int i) { return "n" + std::to_string(i); }
  static std::int64_t gpus(int node) { return node < 3 ? 8 : 0; }
  int below(std::size_t n) { return static_cast<int>(rng() % n); }
  template <typename T>
  const T& any(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(from.size()))];
  }
  std::string any_node() { return node_name(below(kNodes)); }

  std::vector<Json> live_pods() const { return api.list(kube::kPods); }
  static std::optional<gang::PodSlot> slot_of(const Json& pod) {
    return gang::slot_of(*kube::decode_pod(kube::to_text(pod), pod_filter()));
  }
  static std::string name_of(const Json& object) { return text_at(object, "/metadata/name"); }
  std::vector<gang::PodGroup> live_groups() const {
    std::vector<gang::PodGroup> out;
    for (const Json& object : api.list(kube::kPodGroups)) {
      out.push_back(*gang::decode_pod_group(object));
    }
    return out;
  }
  void remove_pod(const Json& pod) { api.remove(kube::kPods, kNs, name_of(pod)); }
  // Pods of one PodGroup for which `is_one` holds.
  template <typename IsOne>
  void remove_pods_of(const std::string& uid, const IsOne& is_one) {
    for (const Json& pod : live_pods()) {
      const auto slot = slot_of(pod);
      if (slot && slot->pod_group_uid == uid && is_one(*slot)) remove_pod(pod);
    }
  }

  // What is left on the node, by the API server's objects.
  Sums left_on(int node) const {
    Sums left{{"cpu", 16'000}, {"nvidia.com/gpu", gpus(node)}, {"pods", 110}};
    for (const Json& pod : live_pods()) {
      if (bound_to(pod) != node_name(node) || !occupies(pod)) continue;
      for (const auto& [name, amount] : requests_of(pod)) left[name] -= amount;
    }
    return left;
  }

  // ---- what users, the controller and other schedulers do

  static gang::MemberSet collectors(int id, int first, int count) {
    auto set = testing::in_gang(testing::a_set("collector", 0, ask(0, 2)),
                                "request-" + std::to_string(id));
    for (int i = 0; i < count; ++i) set.slots.push_back({first + i, 0});
    return set;
  }

  std::vector<gang::MemberSet> some_members() {
    std::vector sets{testing::a_set("coordinator", 1, ask(0, 1)),
                     testing::a_set("learner", 1 + below(3), ask(1 + below(6), 2))};
    if (below(2) == 0) sets.push_back(collectors(1, 4096, 1 + below(2)));
    return sets;
  }

  void submit() {
    ++created;
    add_group("g" + std::to_string(created), some_members(), created, below(3));
  }

  void delete_group(const gang::PodGroup& group) {
    api.remove(kube::kPodGroups, kNs, group.meta.name);
    remove_pods_of(group.meta.uid, [](const auto&) { return true; });
  }

  void end_job() {
    const auto all = live_groups();
    if (!all.empty()) delete_group(any(all));
  }

  // As the controller does it: the base gang with its whole PodGroup, which comes back under its
  // name; any other gang by its slots' incarnations.
  void requeue() {
    const auto all = live_groups();
    if (all.empty()) return;
    const gang::PodGroup& group = any(all);
    if (group.status.gangs.empty()) return;
    const gang::GangStatus& gang = any(group.status.gangs);
    take_back(group, gang);
  }

  // Gangs that were not made whole in time.
  void take_back_given_up() {
    for (const gang::PodGroup& group : live_groups()) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        if (gang.reason != gang::kReasonHealingTimeout) continue;
        ++counts.given_up;
        take_back(group, gang);
        break;  // the PodGroup is another one now
      }
    }
  }

  void take_back(const gang::PodGroup& group, const gang::GangStatus& gang) {
    ++counts.requeued;
    if (gang.committed) ++counts.requeued_committed;
    if (gang.name == gang::kBaseGang) {
      delete_group(group);
      add_group(group.meta.name, group.spec.members, created, group.spec.priority);
      return;
    }
    std::vector<gang::MemberSet> members = group.spec.members;
    for (gang::MemberSet& set : members) {
      if (set.gang != gang.name) continue;
      for (gang::SlotId& slot : set.slots) {
        ++slot.incarnation;
        remove_pods_of(group.meta.uid, [&](const gang::PodSlot& of) {
          return of.role == set.role && of.slot.ordinal == slot.ordinal;
        });
      }
    }
    set_members(group.meta.name, members);
  }

  // The controller changes a spec: a slot less, one more, or another incarnation of one.
  void reshape() {
    const auto all = live_groups();
    if (all.empty()) return;
    const gang::PodGroup& group = any(all);
    std::vector<gang::MemberSet> members = group.spec.members;
    gang::MemberSet& set = members[1 + static_cast<std::size_t>(below(members.size() - 1))];
    std::vector<gang::SlotId>& slots = set.slots;
    const int next = next_ordinal(group, set.role);
    gang::SlotId& slot = slots[static_cast<std::size_t>(below(slots.size()))];
    switch (below(3)) {
      case 0:
        if (slots.size() > 1) slots.pop_back();
        break;
      case 1:
        slots.push_back({next, 0});
        break;
      default:
        ++slot.incarnation;
    }
    set_members(group.meta.name, members);
  }

  // Ordinals are never used again.
  std::map<std::pair<std::string, std::string>, int> highest;
  int next_ordinal(const gang::PodGroup& group, const std::string& role) {
    int& last = highest[{group.meta.uid, role}];
    for (const gang::MemberSet& set : group.spec.members) {
      if (set.role != role) continue;
      for (const gang::SlotId slot : set.slots) last = std::max(last, slot.ordinal);
    }
    return ++last;
  }

  void grow() {
    const auto all = live_groups();
    if (all.empty()) return;
    const gang::PodGroup& group = any(all);
    std::vector<gang::MemberSet> members = group.spec.members;
    const int first = std::max(4096, next_ordinal(group, "collector"));
    const int count = 1 + below(3);
    highest[{group.meta.uid, "collector"}] = first + count;
    members.push_back(collectors(first, first, count));  // its id: no two alike
    set_members(group.meta.name, members);
  }

  // nervex-server merges entries that are wholly placed: the controller moves the slots of one set
  // to another. Mostly of committed gangs; it must be safe for any.
  void merge() {
    for (const gang::PodGroup& group : live_groups()) {
      std::vector<gang::MemberSet> members = group.spec.members;
      std::vector<std::size_t> some;
      for (std::size_t i = 0; i < members.size(); ++i) {
        const auto* gang = gang::find_gang(group.status, members[i].gang);
        const bool is_committed = gang != nullptr && gang->committed;
        if (members[i].role == "collector" && (is_committed || below(8) == 0)) some.push_back(i);
      }
      if (some.size() < 2) continue;
      gang::MemberSet& into = members[some[0]];
      const auto& moved = members[some[1]].slots;
      into.slots.insert(into.slots.end(), moved.begin(), moved.end());
      std::sort(into.slots.begin(), into.slots.end());
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(some[1]));
      set_members(group.meta.name, members);
      ++counts.merged;
      return;
    }
  }

  static bool is_wanted(const gang::PodGroup& group, std::string_view role, gang::SlotId slot) {
    return std::any_of(
        group.spec.members.begin(), group.spec.members.end(), [&](const gang::MemberSet& set) {
          return set.role == role &&
                 std::find(set.slots.begin(), set.slots.end(), slot) != set.slots.end();
        });
  }

  // Deletes some of the bound pods that their slots do not want any more.
  void delete_superseded() {
    const auto all = live_groups();
    for (const Json& pod : live_pods()) {
      const auto slot = slot_of(pod);
      if (!slot || bound_to(pod).empty() || below(2) == 0) continue;
      for (const gang::PodGroup& group : all) {
        if (group.meta.uid != slot->pod_group_uid) continue;
        if (!is_wanted(group, slot->role, slot->slot)) remove_pod(pod);
      }
    }
  }

  // Creates pods for placements, and deletes unbound ones whose placement was released. Hastier
  // than any controller should be: a slot's next pod is created while the one before may still run.
  void control() {
    take_back_given_up();
    std::map<std::pair<std::string, std::int64_t>, std::string> pod_for;
    for (const Json& pod : live_pods()) {
      if (const auto slot = slot_of(pod)) {
        pod_for[{slot->pod_group_uid, slot->placement}] = bound_to(pod).empty() ? name_of(pod) : "";
      }
    }
    for (const gang::PodGroup& group : live_groups()) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Placement& placement : gang.placements) {
          if (pod_for.count({group.meta.uid, placement.number}) > 0) {
            pod_for.erase({group.meta.uid, placement.number});
          } else if (is_wanted(group, placement.role, placement.slot) &&
                     api.get(kube::kPods, kNs, pod_name(group, placement)).is_null()) {
            add_gang_pod(group, placement);
            if (placement.role == "coordinator" && group.spec.priority == 2) {
              give_port(pod_name(group, placement));
            }
          }
        }
      }
    }
    for (const auto& [number, name] : pod_for) {
      if (!name.empty()) api.remove(kube::kPods, kNs, name);
    }
  }

  static std::string pod_name(const gang::PodGroup& group, const gang::Placement& placement) {
    return group.meta.name + "-" + placement.role + "-" + std::to_string(placement.slot.ordinal) +
           "-" + std::to_string(placement.slot.incarnation);
  }

  void give_port(const std::string& pod) {
    Json containers = api.get(kube::kPods, kNs, pod)["spec"]["containers"];
    containers[0]["ports"] = Json::array({{{"hostPort", kPort}}});
    api.change(kube::kPods, kNs, pod, {{"spec", {{"containers", containers}}}});
  }

  static bool lets_in(const Json& node) {
    return !node["spec"].value("unschedulable", false) &&
           node["spec"].value("taints", Json::array()).empty() &&
           node["status"]["conditions"][0]["status"] == "True";
  }

  static std::string uid_of(const Json& object) { return text_at(object, "/metadata/uid"); }
  // Where kube-scheduler counts the pod: bound, or its bind is held. "": nowhere.
  std::string assumed_on(const Json& pod) const {
    if (!bound_to(pod).empty()) return occupies(pod) ? bound_to(pod) : "";
    return held.node_of(uid_of(pod));
  }
  void refuse(const Json& pod) {
    const Json condition{{"type", "PodScheduled"},
                         {"status", "False"},
                         {"reason", "Unschedulable"},
                         {"message", "0/4 nodes are available"}};
    if (!text_at(pod, "/status/conditions/0/reason").empty()) return;
    ++counts.refused;
    api.change(kube::kPods, kNs, name_of(pod), {{"status", {{"conditions", {condition}}}}});
  }
  void finish_held() {
    for (const auto& result : held.finish()) {
      if (result) continue;
      const std::string& error = result.error().message;
      if (error.find("cannot start now") != std::string::npos) ++counts.rejected_commits;
      if (error.find("did not come to be bound") != std::string::npos) ++counts.held_in_vain;
    }
  }

  // What kube-scheduler's own plugins say: NodeUnschedulable, TaintToleration, NodePorts,
  // NodeResourcesFit.
  bool plugins_allow(const Json& pod, int node) {
    if (!lets_in(api.get(kube::kNodes, "", node_name(node)))) return false;
    if (has_port(pod)) {
      for (const Json& other : live_pods()) {
        if (assumed_on(other) != node_name(node) || !has_port(other)) continue;
        ++counts.port_conflicts;
        return false;
      }
    }
    // For gangs the extender's own checks must be enough, unless other schedulers bind pods too.
    if (slot_of(pod) && !scheduler_counts) return true;
    Sums left = left_on(node);
    for (const Json& other : live_pods()) {
      if (!bound_to(other).empty() || assumed_on(other) != node_name(node)) continue;
      for (const auto& [name, amount] : requests_of(other)) left[name] -= amount;
    }
    for (const auto& [name, amount] : requests_of(pod)) {
      if (left.at(name) < amount) return false;
    }
    return true;
  }

  // kube-scheduler with our extender: its own plugins, then filter, then bind.
  void schedule() {
    for (const Json& pod : live_pods()) {
      finish_held();
      if (!bound_to(pod).empty() || !held.node_of(uid_of(pod)).empty() || below(3) == 0) continue;
      std::vector<std::string> names;
      for (int i = 0; i < kNodes; ++i) {
        if (plugins_allow(pod, i)) names.push_back(node_name(i));
      }
      caches_are_fresh = below(2) == 0;
      if (caches_are_fresh) see();
      const kube::FilterResult result = filter(name_of(pod), names);
      if (!result.node_names.empty()) {
        held.begin({name_of(pod), kNs, uid_of(pod), any(result.node_names)});
        finish_held();
      } else if (result.error.empty() && slot_of(pod)) {
        refuse(pod);
      }
      // The cache follows closely, else the plugins are what keeps a node from overflow.
      see_pods();
      check();
      caches_are_fresh = false;
    }
    finish_held();
  }

  // Another scheduler binds a pod of its own where it fits, reserved or not.
  void foreign_pod() {
    const std::string name = "foreign" + std::to_string(created++);
    const int node = below(kNodes);
    add_plain_pod(name, ask(below(gpus(node) == 0 ? 1 : 5), 1 + below(4)));
    if (below(3) == 0) give_port(name);
    const Json pod = api.get(kube::kPods, kNs, name);
    if (scheduler_counts && plugins_allow(pod, node)) {
      api.change(kube::kPods, kNs, name, {{"spec", {{"nodeName", node_name(node)}}}});
      ++counts.foreign_bound;
    }
  }

  void finish_pod() {
    const auto all = live_pods();
    if (all.empty()) return;
    const Json& pod = any(all);
    if (!bound_to(pod).empty()) {
      api.change(kube::kPods, kNs, name_of(pod), {{"status", {{"phase", "Succeeded"}}}});
    }
  }

  void change_node() {
    const std::string node = any_node();
    const bool healthy = below(3) > 0;
    switch (below(3)) {
      case 0:
        return set_ready(node, healthy);
      case 1:
        api.change(kube::kNodes, "", node, {{"spec", {{"unschedulable", !healthy}}}});
        return;
      default:
        const Json taint{{"key", "maintenance"}, {"effect", "NoSchedule"}};
        api.change(kube::kNodes, "", node,
                   {{"spec", {{"taints", healthy ? Json::array() : Json::array({taint})}}}});
    }
  }

  void fault() {
    const Applied applied = below(2) == 0 ? Applied::kYes : Applied::kNo;
    const std::string method = below(2) == 0 ? "PATCH" : below(2) == 0 ? "GET" : "POST";
    if (method == "PATCH" && below(3) == 0) {
      const Code code = below(4) == 0 ? Code::kInvalid : Code::kConflict;
      api.fail_next("PATCH", "", {code, "rejected"}, Applied::kNo);
    } else {
      api.fail_next(method, "", {Code::kTransient, "timeout"}, applied);
    }
  }

  void step() {
    switch (below(20)) {
      case 0:
        return submit();
      case 1:
        return end_job();
      case 2:
        return add_plain_pod("plain" + std::to_string(created++), ask(below(4), 1));
      case 3:
        return change_node();
      case 4:
        return fault();
      case 5:
        return see_groups();
      case 6:
        return see_nodes();
      case 7:
        return clock.advance(std::chrono::milliseconds(below(500)));
      case 8:
      case 9:
        return planner.schedule_once();
      case 10:
      case 11:
        return control();
      case 12:
      case 13:
        return schedule();
      case 14:
        return reshape();
      case 15:
        return grow();
      case 16:
        return merge();
      case 17:
        return below(2) == 0 ? requeue() : finish_pod();
      case 18:
        return foreign_pod();
      default:
        return delete_superseded();
    }
  }

  // ---- what must hold

  void check() {
    check_nodes();
    std::map<std::string, gang::PodGroup> by_uid;
    for (const gang::PodGroup& group : live_groups()) by_uid[group.meta.uid] = group;
    for (const auto& [uid, group] : by_uid) check_committed(group);
    std::set<std::pair<std::string, std::string>> slots;
    for (const Json& pod : live_pods()) {
      const auto slot = slot_of(pod);
      if (!slot || bound_to(pod).empty()) continue;
      INFO("pod " << name_of(pod));
      if (occupies(pod)) {
        const std::string key = gang::slot_key(slot->role, slot->slot.ordinal);
        const bool is_only = slots.emplace(slot->pod_group_uid, key).second;
        CHECK(is_only);
      }
      const auto group = by_uid.find(slot->pod_group_uid);
      if (group == by_uid.end()) continue;
      const auto* placement = gang::find_placement(group->second.status, slot->role, slot->slot);
      if (placement == nullptr) continue;  // released while it ran
      CHECK(placement->number == slot->placement);
      CHECK(placement->node == bound_to(pod));
      CHECK(gang::gang_of(group->second.status, slot->role, slot->slot)->committed);
    }
  }

  void check_nodes() const {
    for (int i = 0; i < kNodes; ++i) {
      INFO("node " << node_name(i));
      for (const auto& [name, left] : left_on(i)) {
        INFO(name);
        CHECK(left >= 0);
      }
    }
  }

  // A gang that is committed on what is true now starts on nodes that take it as a whole.
  void check_nodes_let_in(const gang::PodGroup& group, const gang::GangStatus& gang) {
    for (const gang::Placement& placement : gang.placements) {
      if (!is_wanted(group, placement.role, placement.slot)) continue;
      INFO(group.meta.name << " " << gang.name << " on " << placement.node);
      CHECK(lets_in(api.get(kube::kNodes, "", placement.node)));
    }
  }

  bool is_bound_for(const std::string& uid, std::int64_t number) const {
    const auto alive = live_pods();
    return std::any_of(alive.begin(), alive.end(), [&](const Json& pod) {
      const auto slot = slot_of(pod);
      return slot && slot->pod_group_uid == uid && slot->placement == number &&
             !bound_to(pod).empty();
    });
  }

  // A committed placement keeps its node and number for as long as its slot is wanted, whichever
  // gang it is in; unless its pod is not bound: then it may get another, with a later number.
  void check_committed(const gang::PodGroup& group) {
    const std::string& uid = group.meta.uid;
    for (const gang::GangStatus& gang : group.status.gangs) {
      if (!gang.committed) continue;
      if (committed_gangs.emplace(uid, gang.name).second) {
        ++counts.committed;
        if (caches_are_fresh) check_nodes_let_in(group, gang);
      }
      for (const gang::Placement& placement : gang.placements) {
        committed_placements.try_emplace(
            SlotKey(uid, placement.role, placement.slot.ordinal, placement.slot.incarnation),
            placement.node, placement.number);
      }
    }
    for (const gang::MemberSet& set : group.spec.members) {
      for (const gang::SlotId slot : set.slots) {
        const auto known =
            committed_placements.find(SlotKey(uid, set.role, slot.ordinal, slot.incarnation));
        if (known == committed_placements.end()) continue;
        INFO(group.meta.name << " " << gang::slot_key(set.role, slot.ordinal));
        const auto* placement = gang::find_placement(group.status, set.role, slot);
        const bool is_same =
            placement != nullptr && std::pair(placement->node, placement->number) == known->second;
        if (!is_same) {
          CHECK_FALSE(is_bound_for(uid, known->second.second));
          if (placement == nullptr) continue;
          CHECK(placement->number > known->second.second);
          known->second = {placement->node, placement->number};
          ++counts.moved;
        }
        CHECK(gang::gang_of(group.status, set.role, slot)->committed);
      }
    }
  }

  // Removes all faults and foreign pods, and runs until nothing changes.
  void converge() {
    for (int i = 0; i < kNodes; ++i) {
      set_ready(node_name(i), true);
      api.change(kube::kNodes, "", node_name(i),
                 {{"spec", {{"taints", Json::array()}, {"unschedulable", false}}}});
    }
    for (const Json& pod : live_pods()) {
      if (!slot_of(pod)) remove_pod(pod);
    }
    for (int i = 0; i < 14; ++i) {
      clock.advance(std::chrono::minutes(2));
      see();
      planner.schedule_once();
      control();
      delete_superseded();
      see();
      for (int round = 0; round < 3; ++round) schedule();
    }
  }

  // Two coordinators with one port may have been planned on one node, as their PodGroups do not
  // name it: the gang of one cannot start there, or, if its binds are not held, is not whole.
  bool waits_for_port(const gang::PodGroup& group, const gang::GangStatus& gang) const {
    return std::any_of(gang.placements.begin(), gang.placements.end(), [&](const auto& placement) {
      const Json pod = api.get(kube::kPods, kNs, pod_name(group, placement));
      return !pod.is_null() && has_port(pod) && bound_to(pod).empty();
    });
  }

  void check_end() {
    std::set<std::pair<std::string, std::int64_t>> bound;
    for (const Json& pod : live_pods()) {
      const auto slot = slot_of(pod);
      if (slot && !bound_to(pod).empty()) bound.emplace(slot->pod_group_uid, slot->placement);
    }
    CHECK(plans.unconfirmed().empty());
    // With held binds a gang may be about to start again, after a pod of it was refused.
    if (holds_binds) return;
    for (const gang::PodGroup& group : live_groups()) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        INFO(group.meta.name << " " << gang.name << " " << gang.message);
        // Where binds are not held a gang may start without the pod whose port is taken.
        const bool is_healing =
            gang.reason == gang::kReasonHealing || gang.reason == gang::kReasonHealingTimeout;
        if (is_healing || waits_for_port(group, gang)) continue;
        CHECK((gang.committed || !gang.planned));
        for (const gang::Placement& placement : gang.placements) {
          CHECK(bound.count({group.meta.uid, placement.number}) == 1);
        }
      }
    }
  }
};

TEST_CASE("gangs start as a whole and no node is overcommitted", "[extender][sim][property]") {
  const auto first_seed = GENERATE(take(1, random(0U, 1'000'000'000U)));
  Counts counts;
  for (unsigned seed = first_seed; seed < first_seed + testing::cases(40); ++seed) {
    INFO("seed " << seed);
    Sim sim(seed, counts);
    for (int i = 0; i < 250; ++i) {
      sim.step();
      sim.check();
    }
    sim.converge();
    sim.check();
    sim.check_end();
  }
  // Otherwise the above has tested nothing.
  INFO(counts.committed << " committed, " << counts.rejected_commits << " rejected, "
                        << counts.requeued << " requeued (" << counts.requeued_committed
                        << " committed), " << counts.merged << " merged, " << counts.port_conflicts
                        << " ports, " << counts.foreign_bound << " foreign, " << counts.moved
                        << " moved, " << counts.refused << " refused, " << counts.held_in_vain
                        << " held in vain, " << counts.given_up << " given up");
  if (testing::kSanitized) return;
  CHECK(counts.committed > 100);
  CHECK(counts.rejected_commits > 3);
  CHECK(counts.requeued > 20);
  CHECK(counts.requeued_committed > 2);
  CHECK(counts.merged > 8);
  CHECK(counts.port_conflicts > 10);
  CHECK(counts.foreign_bound > 30);
  CHECK(counts.refused > 30);
  CHECK(counts.held_in_vain > 3);
}

}  // namespace
}  // namespace nervex::extender
