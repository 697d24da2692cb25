// tests/support/gang_builders.h - how do tests build nodes, views and member sets? Fills in the
// uninteresting parts.
#pragma once

#include <algorithm>
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

// Slots role/0 ... role/count-1.
inline gang::MemberSet a_set(std::string role, int count, kube::Resources requests) {
  gang::MemberSet set;
  set.name = role;
  set.gang = std::string(gang::kBaseGang);
  set.role = std::move(role);
  for (int i = 0; i < count; ++i) set.slots.push_back({i, 0});
  set.shape.requests = std::move(requests);
  return set;
}
// It is bound after all others.
inline gang::MemberSet coordinator() {
  auto set = a_set("coordinator", 1, ask(0));
  set.bind_last = true;
  return set;
}
inline gang::MemberSet selecting(gang::MemberSet set, const std::string& key,
                                 const std::string& value) {
  set.shape.constraints.node_selector[key] = value;
  return set;
}
inline gang::MemberSet on_port(gang::MemberSet set, int port) {
  set.shape.requests.set(kube::host_port("TCP", port), 1);
  return set;
}
// Its pods keep apart by that node label.
inline gang::MemberSet apart_by(gang::MemberSet set, const std::string& key) {
  set.shape.requests.set("podAntiAffinity:" + key + "#1", 1);
  return set;
}
inline gang::MemberSet preferring(gang::MemberSet set, const std::string& key, int weight) {
  set.shape.constraints.preferred_terms.push_back(
      {{"weight", weight},
       {"preference",
        {{"matchExpressions", Json::array({{{"key", key}, {"operator", "Exists"}}})}}}});
  return set;
}
inline gang::MemberSet in_gang(gang::MemberSet set, std::string gang_name) {
  set.name = gang_name + "-" + set.role;
  set.gang = std::move(gang_name);
  return set;
}

// Queued `seconds` after the epoch; generation 1, nothing decided yet.
inline gang::PodGroup a_group(std::string name, std::vector<gang::MemberSet> members,
                              int seconds = 0, int priority = 0) {
  gang::PodGroup group;
  group.meta.ns = "rl";
  group.meta.uid = "uid-" + name;
  group.meta.name = std::move(name);
  group.meta.resource_version = "1";
  group.meta.generation = 1;
  group.spec.queued_since = SysTime(std::chrono::seconds(seconds));
  group.spec.priority = priority;
  group.spec.members = std::move(members);
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
  for (const gang::MemberSet& set : group.spec.members) {
    if (set.gang != gang_name) continue;
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
