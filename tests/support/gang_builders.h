// tests/support/gang_builders.h - how do tests build nodes, views and member sets? Fills in the
// uninteresting parts.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gang/pod_group.h"
#include "placement/cluster.h"

namespace nervex::testing {

inline constexpr std::int64_t kGi = std::int64_t{1} << 30;

// cpu in whole cores, memory 4 Gi per core.
inline kube::Resources capacity(std::int64_t gpus, std::int64_t cores, std::int64_t pods = 110) {
  return kube::Resources{
      {"cpu", cores * 1000}, {"memory", cores * 4 * kGi}, {"nvidia.com/gpu", gpus}, {"pods", pods}};
}

// The requests of one pod.
inline kube::Resources ask(std::int64_t gpus, std::int64_t cores = 1) {
  return kube::Resources{{"cpu", cores * 1000}, {"nvidia.com/gpu", gpus}, {"pods", 1}};
}

inline kube::Node a_node(std::string name, std::int64_t gpus, std::int64_t cores = 64) {
  kube::Node node;
  node.name = std::move(name);
  node.uid = "uid-" + node.name;
  node.ready = true;
  node.allocatable = capacity(gpus, cores);
  return node;
}

inline kube::Node tainted(kube::Node node) {
  node.taints.push_back({"reserved", "yes", "NoSchedule"});
  return node;
}
inline kube::Node with_taint(kube::Node node, const char* effect) {
  node.taints.push_back({"leaving", "", effect});
  return node;
}
inline kube::Node not_ready(kube::Node node) {
  node.ready = false;
  return node;
}
inline kube::Node cordoned(kube::Node node) {
  node.unschedulable = true;
  return node;
}
inline kube::Node labelled(kube::Node node, const std::string& key, const std::string& value) {
  node.labels[key] = value;
  return node;
}

// An empty node.
inline placement::NodeView view(kube::Node node) {
  auto shared = std::make_shared<const kube::Node>(std::move(node));
  return {shared, shared->allocatable};
}
// With `used` taken from it.
inline placement::NodeView view(kube::Node node, const kube::Resources& used) {
  placement::NodeView out = view(std::move(node));
  out.free -= used;
  return out;
}

// A set and the gang that it belongs to: tests list the sets of a PodGroup in one row.
struct Member : gang::MemberSet {
  Member(gang::MemberSet set = {}) : gang::MemberSet(std::move(set)) {}  // in the base gang
  gang::Gang gang{std::string(gang::kBaseGang), gang::GangKind::kBase, 0, 0, {}};
};

// Slots role/0 ... role/count-1.
inline Member a_set(std::string role, int count, kube::Resources requests) {
  Member set;
  set.name = role;
  set.role = std::move(role);
  for (int i = 0; i < count; ++i) set.slots.push_back({i, 0});
  set.shape.requests = std::move(requests);
  return set;
}
// It is bound after all others.
inline Member coordinator() {
  auto set = a_set("coordinator", 1, ask(0));
  set.bind_last = true;
  return set;
}
inline Member selecting(Member set, const std::string& key, const std::string& value) {
  set.shape.constraints.edit(
      [&](kube::NodeConstraints& constraints) { constraints.node_selector[key] = value; });
  return set;
}
inline Member on_port(Member set, int port) {
  set.shape.requests.set(kube::host_port("TCP", port), 1);
  return set;
}
// Its pods keep apart by that node label.
inline Member apart_by(Member set, const std::string& key) {
  set.shape.requests.set("podAntiAffinity:" + key + "#1", 1);
  return set;
}
// Of the taints of with_taint(); `seconds`: -1 for no limit.
inline Member tolerating(Member set, int seconds = -1) {
  Json toleration{{"key", "leaving"}, {"operator", "Exists"}};
  if (seconds >= 0) toleration["tolerationSeconds"] = seconds;
  set.shape.constraints.edit([&](kube::NodeConstraints& constraints) {
    constraints.tolerations.push_back(std::move(toleration));
  });
  return set;
}
inline Member preferring(Member set, const std::string& key, int weight) {
  set.shape.constraints.edit([&](kube::NodeConstraints& constraints) {
    constraints.preferred_terms.push_back(
        {{"weight", weight},
         {"preference",
          {{"matchExpressions", Json::array({{{"key", key}, {"operator", "Exists"}}})}}}});
  });
  return set;
}
inline Member in_gang(Member set, gang::Gang gang) {
  const bool is_named_alike = gang.kind == gang::GangKind::kAddedReplicas;
  set.name = is_named_alike ? gang.name : gang.name + "-" + set.role;
  set.gang = std::move(gang);
  return set;
}
inline Member in_request(Member set, std::int64_t id) {
  return in_gang(std::move(set),
                 {"request-" + std::to_string(id), gang::GangKind::kRequest, id, 0, {}});
}

inline std::vector<gang::Gang> make_gangs(const std::vector<Member>& members) {
  std::vector<gang::Gang> gangs;
  for (const Member& member : members) {
    auto at = std::find_if(gangs.begin(), gangs.end(),
                           [&](const auto& gang) { return gang.name == member.gang.name; });
    if (at == gangs.end()) at = gangs.insert(at, member.gang);
    at->members.push_back(member);
  }
  return gangs;
}
inline std::vector<Member> list_members(const gang::PodGroup& group) {
  std::vector<Member> members;
  for (const gang::Gang& gang : group.spec.gangs) {
    for (const gang::MemberSet& set : gang.members) {
      members.emplace_back(set).gang = {
          gang.name, gang.kind, gang.request_id, gang.first_ordinal, {}};
    }
  }
  return members;
}
// The n-th set of all gangs, from 0.
template <typename PodGroup>
auto& nth_set(PodGroup& group, int n) {
  return *std::next(gang::all_sets(group.spec.gangs).begin(), n);
}
inline void add_member(gang::PodGroup& group, Member member) {
  auto members = list_members(group);
  members.push_back(std::move(member));
  group.spec.gangs = make_gangs(members);
}

// Queued `seconds` after the epoch; generation 1, nothing decided yet.
inline gang::PodGroup a_group(std::string name, const std::vector<Member>& members, int seconds = 0,
                              int priority = 0) {
  gang::PodGroup group;
  group.meta.ns = "rl";
  group.meta.uid = "uid-" + name;
  group.meta.name = std::move(name);
  group.meta.resource_version = "1";
  group.meta.generation = 1;
  group.spec.queued_since = SysTime(std::chrono::seconds(seconds));
  group.spec.priority = priority;
  group.spec.gangs = make_gangs(members);
  return group;
}

// The same with a planned gang: its n-th slot, set by set, is on the n-th node.
inline gang::PodGroup planned(gang::PodGroup group, const std::vector<std::string>& nodes,
                              bool committed = false,
                              std::string_view gang_name = gang::kBaseGang) {
  gang::GangStatus gang;
  gang.name = std::string(gang_name);
  gang.planned = true;
  gang.committed = committed;
  gang.reason = std::string(gang::kReasonPlanned);
  auto node = nodes.begin();
  for (const gang::MemberSet& set : gang::find_gang(group.spec, gang_name)->members) {
    for (const gang::SlotId slot : set.slots) {
      gang.placements.push_back({set.role, slot, *node++, group.status.next_placement++});
    }
  }
  gang.message = gang.placements.size() == 1
                     ? "1 pod is placed"
                     : std::to_string(gang.placements.size()) + " pods are placed";
  group.status.gangs.push_back(std::move(gang));
  group.status.observed_generation = group.meta.generation;
  return group;
}

}  // namespace nervex::testing
