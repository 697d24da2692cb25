#include "gang/capacity.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "kube/model/anti_affinity.h"

namespace nervex::gang {
namespace {

Amounts pick(const std::vector<std::string>& resources, const kube::Resources& from) {
  Amounts amounts;
  amounts.reserve(resources.size());
  for (const std::string& resource : resources) amounts.push_back(from.get(resource));
  return amounts;
}

// One of each implicit resource, beyond what a node states.
void add_implicit(const std::vector<std::string>& resources, Amounts& amounts) {
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (kube::is_implicit(resources[i])) ++amounts[i];
  }
}

Amounts pick(const std::vector<std::string>& resources, const kube::Resources& from,
             bool any_implicit) {
  Amounts amounts = pick(resources, from);
  if (any_implicit) add_implicit(resources, amounts);
  return amounts;
}

std::vector<std::string> resources_of(std::span<const MemberSet> members) {
  std::set<std::string> names;
  for (const MemberSet& member : members) {
    for (const auto& [name, amount] : member.shape.requests.amounts()) {
      if (amount > 0) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

OtherDevices other_devices(const NodeView& view, const std::vector<std::string>& resources) {
  OtherDevices other;
  for (const auto& [name, amount] : view.node->allocatable.amounts()) {
    if (!is_device(name) || std::binary_search(resources.begin(), resources.end(), name)) continue;
    other.has = true;
    other.free += std::max<std::int64_t>(0, view.free.get(name));
  }
  return other;
}

// Devices come first: whole nodes are kept free for them. Then cpu, then other resources.
std::size_t scarce_of(const Amounts& each, const std::vector<std::string>& resources) {
  std::size_t best = 0;
  const auto rank = [&](std::size_t i) {
    const bool asked = each[i] > 0;
    return std::tuple(asked && is_device(resources[i]), asked && resources[i] == "cpu",
                      asked && !kube::is_implicit(resources[i]), asked,
                      is_device(resources[i]) ? each[i] : 0);
  };
  for (std::size_t i = 1; i < resources.size(); ++i) {
    if (rank(i) > rank(best)) best = i;
  }
  return best;
}

Domains domains_by(std::string_view key, std::size_t resource, std::span<const NodeView> nodes) {
  Domains out{resource, {}, {}};
  std::map<std::string_view, std::size_t> by_value;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& labels = nodes[i].node->labels;
    const auto label = labels.find(key);
    std::size_t domain = out.nodes.size();
    if (label != labels.end()) domain = by_value.emplace(label->second.str(), domain).first->second;
    if (domain == out.nodes.size()) out.nodes.emplace_back();
    out.nodes[domain].push_back(i);
    out.domain.push_back(domain);
  }
  return out;
}

// What a pod on one of its nodes has taken is taken from the whole domain.
void share_by_domain(Capacity& capacity, std::span<const NodeView> nodes) {
  for (std::size_t r = 0; r < capacity.resources.size(); ++r) {
    const std::string_view key = kube::topology_key_of(capacity.resources[r]);
    if (key.empty() || key == kube::kHostname) continue;  // a node is a domain there
    Domains& domains = capacity.domains.emplace_back(domains_by(key, r, nodes));
    for (const auto& members : domains.nodes) {
      std::int64_t free = 1;
      for (const std::size_t i : members) free -= 1 - capacity.free.row(i)[r];
      for (const std::size_t i : members) capacity.free.set(i, r, free);
    }
  }
}

std::vector<kube::NodeFit> judge_all(const kube::NodeConstraints& constraints,
                                     std::span<const NodeView> nodes) {
  std::vector<kube::NodeFit> fits;
  fits.reserve(nodes.size());
  for (const NodeView& view : nodes) fits.push_back(kube::judge(*view.node, constraints));
  return fits;
}

Amounts score_all(const kube::NodeConstraints& constraints, std::span<const NodeView> nodes) {
  Amounts score;
  if (constraints.preferred_terms.empty()) return score;
  score.reserve(nodes.size());
  for (const NodeView& view : nodes) score.push_back(kube::preference(*view.node, constraints));
  return score;
}

void apply_limits(Capacity& capacity, std::span<const MemberSet> members,
                  std::span<const NodeView> nodes, std::span<const NodeLimit> limits) {
  if (limits.empty()) return;
  std::map<std::string_view, std::size_t> node_index;
  for (std::size_t i = 0; i < nodes.size(); ++i) node_index.emplace(nodes[i].node->name, i);
  for (const NodeLimit& limit : limits) {
    const auto node = node_index.find(limit.node);
    if (node == node_index.end()) continue;
    for (std::size_t set = 0; set < members.size(); ++set) {
      if (members[set].name != limit.set) continue;
      Amounts& at_most = capacity.sets[set].at_most;
      if (at_most.empty()) at_most.assign(nodes.size(), capacity.sets[set].wanted);
      at_most[node->second] =
          std::min(at_most[node->second], std::max<std::int64_t>(0, limit.at_most));
    }
  }
}

}  // namespace

Capacity measure_capacity(std::span<const MemberSet> members, std::span<const NodeView> nodes,
                          std::span<const NodeLimit> limits) {
  const std::vector<std::string> resources = resources_of(members);
  Capacity capacity{resources, {}, {}, Grid(resources.size()), Grid(resources.size()), {}, {}};
  for (const std::string& resource : resources) capacity.device.push_back(is_device(resource));
  const bool implicit = std::any_of(resources.begin(), resources.end(), [](const auto& resource) {
    return kube::is_implicit(resource);
  });
  for (const NodeView& view : nodes) {
    capacity.free.add_row(pick(resources, view.free, implicit));
    capacity.empty.add_row(pick(resources, view.node->allocatable, implicit));
    capacity.other_devices.push_back(other_devices(view, resources));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    // Roles of one job mostly share their constraints: judge each kind once.
    const auto twin =
        std::find_if(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const MemberSet& other) {
                       return other.shape.constraints == members[i].shape.constraints;
                     });
    const auto twin_index = static_cast<std::size_t>(twin - members.begin());
    Amounts each = pick(capacity.resources, members[i].shape.requests);
    const std::size_t scarce = scarce_of(each, capacity.resources);
    capacity.sets.push_back({std::move(each),
                             static_cast<std::int64_t>(members[i].slots.size()),
                             scarce,
                             twin_index < i ? capacity.sets[twin_index].fits
                                            : judge_all(members[i].shape.constraints, nodes),
                             {},
                             score_all(members[i].shape.constraints, nodes)});
  }
  share_by_domain(capacity, nodes);
  apply_limits(capacity, members, nodes, limits);
  return capacity;
}

void Capacity::take(std::size_t node, const SetNeed& need, std::int64_t times) {
  free.take(node, need.each, times);
  for (const Domains& shared : domains) {
    const std::size_t r = shared.resource;
    if (need.each[r] == 0) continue;
    for (const std::size_t other : shared.nodes[shared.domain[node]]) {
      if (other != node) free.set(other, r, free.row(other)[r] - times * need.each[r]);
    }
  }
}

std::int64_t times_in(const Amounts& each, AmountsView amounts, std::int64_t limit) {
  std::int64_t times = limit;
  for (std::size_t i = 0; i < each.size(); ++i) {
    if (each[i] > 0) times = std::min(times, std::max<std::int64_t>(0, amounts[i]) / each[i]);
  }
  return times;
}

}  // namespace nervex::gang
