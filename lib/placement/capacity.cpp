#include "placement/capacity.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "kube/model/anti_affinity.h"

namespace nervex::placement {
namespace {

std::vector<std::string> list_resources(std::span<const gang::MemberSet> members) {
  std::set<std::string> names;
  for (const gang::MemberSet& member : members) {
    for (const auto& [name, amount] : member.shape.requests.amounts()) {
      if (amount > 0 && !kube::is_counter(name)) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

// Devices come first: whole nodes are kept free for them. Then cpu, then other resources. Delegated
// ones are not scarce here.
std::size_t pick_scarce(const Amounts& each, const std::vector<std::string>& resources,
                        const Cluster& cluster) {
  std::size_t best = 0;
  const auto rank = [&](std::size_t i) {
    const auto column = cluster.column(resources[i]);
    const bool asked = each[i] > 0 && !(column && cluster.is_delegated(*column));
    return std::tuple(asked && is_device(resources[i]), asked && resources[i] == "cpu",
                      asked && !kube::is_implicit(resources[i]), asked,
                      is_device(resources[i]) ? each[i] : 0);
  };
  for (std::size_t i = 1; i < resources.size(); ++i) {
    if (rank(i) > rank(best)) best = i;
  }
  return best;
}

SetNeed measure_need(const gang::MemberSet& member, const std::vector<std::string>& resources,
                     const Cluster& cluster) {
  SetNeed need;
  for (const std::string& resource : resources) {
    need.each.push_back(member.shape.requests.get(resource));
  }
  need.wanted = static_cast<std::int64_t>(member.slots.size());
  need.scarce = pick_scarce(need.each, resources, cluster);
  need.verdicts = cluster.verdicts(member.shape.constraints);
  return need;
}

// The verdicts, as if the nodeSelector of the pods selected these nodes alone.
std::shared_ptr<const Verdicts> restrict_to(const Verdicts& verdicts, const NodeChoice& choice) {
  auto out = std::make_shared<Verdicts>(verdicts);
  for (std::size_t i = 0; i < out->fits.size(); ++i) {
    if (choice.allowed[i]) continue;
    out->selected[i] = false;
    if (out->fits[i] == kube::NodeFit::kAllowed) out->fits[i] = kube::NodeFit::kNotSelected;
  }
  if (choice.score.empty()) return out;
  if (out->score.empty()) out->score.assign(out->fits.size(), 0);
  for (std::size_t i = 0; i < out->score.size(); ++i) out->score[i] += choice.score[i];
  return out;
}

void apply_choices(Capacity& capacity, std::span<const gang::MemberSet> members,
                   std::span<const NodeChoice> choices) {
  for (const NodeChoice& choice : choices) {
    for (std::size_t set = 0; set < members.size(); ++set) {
      if (members[set].name != choice.set) continue;
      auto& verdicts = capacity.sets[set].verdicts;
      verdicts = restrict_to(*verdicts, choice);
    }
  }
}

void find_columns(Capacity& capacity) {
  for (const std::string& resource : capacity.resources) {
    const auto column = capacity.cluster->column(resource);
    capacity.device.push_back(is_device(resource) &&
                              !(column && capacity.cluster->is_delegated(*column)));
    capacity.column.push_back(column ? static_cast<std::ptrdiff_t>(*column) : -1);
  }
}

// '~' sorts after all names of resources.
std::string group_resource(const GroupLimit& limit) {
  return "~" + limit.label + "/" + limit.resource;
}

// Pods request as much of it as of the resource that the limit is about.
void add_group_resource(Capacity& capacity, std::span<const gang::MemberSet> members,
                        std::string name, std::string_view resource) {
  ++capacity.group_limits;
  capacity.resources.push_back(std::move(name));
  capacity.device.push_back(false);
  capacity.column.push_back(-1);
  for (std::size_t set = 0; set < members.size(); ++set) {
    capacity.sets[set].each.push_back(members[set].shape.requests.get(resource));
  }
}

bool has_constraint(const gang::MemberSet& set, const DomainBounds& bounds) {
  return std::find(bounds.sets.begin(), bounds.sets.end(), set.name) != bounds.sets.end();
}

// Domains::Skew::has_places.
bool needs_places(const DomainBounds& bounds, std::span<const gang::MemberSet> members) {
  return std::any_of(members.begin(), members.end(), [&](const gang::MemberSet& set) {
    return has_constraint(set, bounds) != (set.shape.requests.get(bounds.counter) > 0);
  });
}

void add_group_resources(Capacity& capacity, std::span<const gang::MemberSet> members,
                         std::span<const GroupLimit> limits, std::span<const DomainBounds> bounds) {
  for (const GroupLimit& limit : limits) {
    add_group_resource(capacity, members, group_resource(limit), limit.resource);
  }
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    add_group_resource(capacity, members, fmt::format("~~{}", i), bounds[i].counter);
    if (!needs_places(bounds[i], members)) continue;
    add_group_resource(capacity, members, fmt::format("~~{}~", i), "");
    for (std::size_t set = 0; set < members.size(); ++set) {
      if (has_constraint(members[set], bounds[i])) capacity.sets[set].each.back() = 1;
    }
  }
}

void apply_group_limit(Capacity& capacity, std::size_t resource, const GroupLimit& limit) {
  Domains out{resource, {}, {}};
  std::map<std::string_view, std::size_t> by_value;  // "": all nodes that the limit does not name
  for (std::size_t i = 0; i < capacity.nodes(); ++i) {
    const auto& labels = capacity.cluster->node(i).labels;
    const auto label = labels.find(limit.label);
    const auto bound =
        label == labels.end() ? limit.most.end() : limit.most.find(label->second.str());
    const bool is_named = bound != limit.most.end();
    const std::string_view value = is_named ? std::string_view(bound->first) : "";
    const auto [domain, is_new] = by_value.emplace(value, out.nodes.size());
    if (is_new) out.nodes.emplace_back();
    if (!is_named && !limit.closes_others) out.unbounded = domain->second;
    out.nodes[domain->second].push_back(i);
    out.domain.push_back(domain->second);
    capacity.free.edit(i)[resource] = is_named              ? bound->second
                                      : limit.closes_others ? 0
                                                            : kUnbounded;
  }
  capacity.domains.push_back(std::move(out));
}

// Returns how many resources it has used.
std::size_t apply_domain_bounds(Capacity& capacity, std::size_t resource,
                                const DomainBounds& bounds,
                                std::span<const gang::MemberSet> members) {
  Domains out{resource, {}, {bounds.domain.begin(), bounds.domain.end()}};
  out.unbounded = bounds.most.size();
  out.nodes.resize(bounds.most.size() + 1);
  const bool has_places = needs_places(bounds, members);
  Domains::Skew skew{bounds.count, {}, bounds.max_skew, bounds.has_empty_domain, has_places};
  for (const std::int64_t most : bounds.most) {
    // Pods without the constraint may go anywhere.
    const bool is_bounded = !has_places || bounds.bounds_all;
    skew.most.push_back(is_bounded ? std::max<std::int64_t>(0, most) : kUnbounded);
  }
  for (std::size_t i = 0; i < capacity.nodes(); ++i) {
    if (out.domain[i] == DomainBounds::kNone) {
      out.domain[i] = out.unbounded;
    } else {
      capacity.free.edit(i)[resource] = skew.most[out.domain[i]];
    }
    out.nodes[out.domain[i]].push_back(i);
  }
  out.skew = std::move(skew);
  capacity.domains.push_back(std::move(out));
  if (has_places) {
    Domains places = capacity.domains.back();
    places.skew.reset();
    places.resource = resource + 1;
    capacity.domains.push_back(std::move(places));
  }
  for (std::size_t set = 0; set < members.size(); ++set) {
    if (!has_constraint(members[set], bounds)) continue;
    Amounts& at_most = capacity.sets[set].at_most;
    if (at_most.empty()) at_most.assign(capacity.nodes(), capacity.sets[set].wanted);
    for (std::size_t i = 0; i < capacity.nodes(); ++i) {
      const std::size_t domain = bounds.domain[i];
      if (domain == DomainBounds::kNone || bounds.most[domain] < 0) at_most[i] = 0;
    }
  }
  return has_places ? 2 : 1;
}

void pick_free(Capacity& capacity) {
  const Cluster& cluster = *capacity.cluster;
  const std::size_t width = capacity.resources.size();
  capacity.free = Grid(cluster.size(), width);
  const bool now = capacity.when == Capacity::When::kNow;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    const std::int64_t* from = now ? cluster.free_row(i) : cluster.allocatable_row(i);
    std::int64_t* to = capacity.free.edit(i);
    for (std::size_t r = 0; r < width; ++r) {
      if (capacity.column[r] >= 0) to[r] = from[capacity.column[r]];
    }
  }
  for (std::size_t r = width - capacity.group_limits; r < width; ++r) {
    for (std::size_t i = 0; i < cluster.size(); ++i) capacity.free.edit(i)[r] = kUnbounded;
  }
  for (std::size_t r = 0; r < width; ++r) {
    if (!kube::is_implicit(capacity.resources[r])) continue;
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      // One, in addition to what the node states.
      capacity.free.edit(i)[r] =
          now ? cluster.implicit(i).get(capacity.resources[r]) + 1 : std::int64_t{1};
    }
  }
}

std::vector<OtherDevices> other_devices(const Capacity& capacity) {
  const Cluster& cluster = *capacity.cluster;
  std::vector<std::size_t> others;
  for (std::size_t c = 0; c < cluster.columns().size(); ++c) {
    const std::string& name = cluster.columns()[c];
    if (!is_device(name) || cluster.is_delegated(c)) continue;
    const auto& asked = capacity.resources;
    if (!std::binary_search(asked.begin(), asked.end(), name)) others.push_back(c);
  }
  std::vector<OtherDevices> out;
  if (others.empty()) return out;
  out.resize(cluster.size());
  const bool now = capacity.when == Capacity::When::kNow;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    for (const std::size_t c : others) {
      const std::int64_t all = cluster.allocatable_row(i)[c];
      if (kube::is_delegated(all)) continue;
      const std::int64_t free = now ? cluster.free_row(i)[c] : all;
      out[i].has = out[i].has || all != 0;
      if (all != 0) out[i].free += std::max<std::int64_t>(0, free);
    }
  }
  return out;
}

Domains domains_by(std::string_view key, std::size_t resource, const Cluster& cluster) {
  Domains out{resource, {}, {}};
  std::map<std::string_view, std::size_t> by_value;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    const auto& labels = cluster.node(i).labels;
    const auto label = labels.find(key);
    std::size_t domain = out.nodes.size();
    if (label != labels.end()) domain = by_value.emplace(label->second.str(), domain).first->second;
    if (domain == out.nodes.size()) out.nodes.emplace_back();
    out.nodes[domain].push_back(i);
    out.domain.push_back(domain);
  }
  return out;
}

// A pod on one node of a domain uses the resource of the whole domain.
void share_by_domain(Capacity& capacity) {
  for (const Domains& domains : capacity.domains) {
    for (const auto& members : domains.nodes) {
      std::int64_t free = 1;
      for (const std::size_t i : members) free -= 1 - capacity.free.row(i)[domains.resource];
      for (const std::size_t i : members) capacity.free.edit(i)[domains.resource] = free;
    }
  }
}

void find_domains(Capacity& capacity) {
  for (std::size_t r = 0; r < capacity.resources.size(); ++r) {
    const std::string_view key = kube::parse_topology_key(capacity.resources[r]);
    if (key.empty() || key == kube::kHostname) continue;  // a node is a domain there
    capacity.domains.push_back(domains_by(key, r, *capacity.cluster));
  }
}

void apply_limits(Capacity& capacity, std::span<const gang::MemberSet> members,
                  std::span<const NodeLimit> limits) {
  for (const NodeLimit& limit : limits) {
    const auto node = capacity.cluster->find(limit.node);
    if (!node) continue;
    for (std::size_t set = 0; set < members.size(); ++set) {
      if (members[set].name != limit.set) continue;
      Amounts& at_most = capacity.sets[set].at_most;
      if (at_most.empty()) at_most.assign(capacity.nodes(), capacity.sets[set].wanted);
      at_most[*node] = std::min(at_most[*node], std::max<std::int64_t>(0, limit.at_most));
    }
  }
}

}  // namespace

Capacity measure_capacity(std::span<const gang::MemberSet> members, const Cluster& cluster,
                          const PlanLimits& limits) {
  Capacity capacity;
  capacity.cluster = &cluster;
  capacity.delegates = cluster.delegates();
  capacity.resources = list_resources(members);
  find_columns(capacity);
  for (const gang::MemberSet& member : members) {
    capacity.sets.push_back(measure_need(member, capacity.resources, cluster));
  }
  apply_choices(capacity, members, limits.choices);
  add_group_resources(capacity, members, limits.groups, limits.domains);
  pick_free(capacity);
  capacity.other_devices = other_devices(capacity);
  find_domains(capacity);
  share_by_domain(capacity);
  std::size_t next = capacity.resources.size() - capacity.group_limits;
  for (const GroupLimit& limit : limits.groups) apply_group_limit(capacity, next++, limit);
  for (const DomainBounds& one : limits.domains) {
    next += apply_domain_bounds(capacity, next, one, members);
  }
  apply_limits(capacity, members, limits.nodes);
  return capacity;
}

Capacity when_empty(const Capacity& capacity) {
  Capacity empty;
  empty.cluster = capacity.cluster;
  empty.delegates = capacity.delegates;
  empty.when = Capacity::When::kEmptyCluster;
  empty.resources = capacity.resources;
  empty.group_limits = capacity.group_limits;
  empty.device = capacity.device;
  empty.column = capacity.column;
  empty.sets = capacity.sets;
  for (SetNeed& need : empty.sets) need.at_most.clear();
  pick_free(empty);
  empty.other_devices = other_devices(empty);
  const std::size_t first = empty.resources.size() - empty.group_limits;
  std::copy_if(capacity.domains.begin(), capacity.domains.end(), std::back_inserter(empty.domains),
               [first](const Domains& shared) { return shared.resource < first; });
  return empty;
}

std::int64_t Capacity::allocatable(std::size_t node, std::size_t resource) const {
  if (column[resource] >= 0) return cluster->allocatable_row(node)[column[resource]];
  if (resource >= resources.size() - group_limits) return kUnbounded;
  return kube::is_implicit(resources[resource]) ? 1 : 0;
}

std::int64_t Capacity::times_on(const SetNeed& need, std::size_t node) const {
  return may_use(need, node) ? times_in(need.each, free.row(node), need.limit_on(node)) : 0;
}

std::int64_t most_alone(const Capacity& capacity, const SetNeed& need) {
  std::int64_t most = 0;
  std::vector<std::vector<bool>> holds_one;  // by domains that count, and domain
  std::vector<const Domains*> shared;
  for (const Domains& domains : capacity.domains) {
    const bool is_group_limit =
        domains.resource >= capacity.resources.size() - capacity.group_limits;
    if (need.each[domains.resource] == 0 || is_group_limit) continue;
    shared.push_back(&domains);
    holds_one.emplace_back(domains.nodes.size(), false);
  }
  for (std::size_t i = 0; i < capacity.nodes(); ++i) {
    const std::int64_t times = capacity.times_on(need, i);
    if (times == 0) continue;
    most += times;
    for (std::size_t d = 0; d < shared.size(); ++d) holds_one[d][shared[d]->domain[i]] = true;
  }
  for (const auto& domains : holds_one) {
    most = std::min<std::int64_t>(most, std::count(domains.begin(), domains.end(), true));
  }
  return most;
}

bool Capacity::shares_domains(const SetNeed& need) const {
  return std::any_of(domains.begin(), domains.end(),
                     [&](const Domains& shared) { return need.each[shared.resource] != 0; });
}

void Capacity::take(std::span<const Fill> fills, Direction direction) {
  std::vector<std::vector<std::int64_t>> shared(domains.size());  // by domain
  for (std::size_t d = 0; d < domains.size(); ++d) shared[d].resize(domains[d].nodes.size());
  for (const Fill& fill : fills) {
    const SetNeed& need = sets[fill.set];
    const std::int64_t times = direction == Direction::kTake ? fill.count : -fill.count;
    std::int64_t* row = free.edit(fill.node);
    for (std::size_t r = 0; r < need.each.size(); ++r) row[r] -= times * need.each[r];
    for (std::size_t d = 0; d < domains.size(); ++d) {
      const Domains& one = domains[d];
      const std::int64_t used = times * need.each[one.resource];
      if (used == 0 || one.domain[fill.node] == one.unbounded) continue;
      shared[d][one.domain[fill.node]] += used;
      row[one.resource] += used;  // with all nodes of the domain below
    }
  }
  for (std::size_t d = 0; d < domains.size(); ++d) {
    for (std::size_t i = 0; i < shared[d].size(); ++i) {
      if (shared[d][i] == 0) continue;
      for (const std::size_t node : domains[d].nodes[i]) {
        free.edit(node)[domains[d].resource] -= shared[d][i];
      }
    }
  }
}

}  // namespace nervex::placement
