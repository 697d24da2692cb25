#include "extender/simulation/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "extender/cycle/scheduling_cycle.h"
#include "kube/model/anti_affinity.h"

namespace nervex::extender {
namespace {

constexpr int kMostCycles = 24;  // of the search for the most replicas
constexpr int kMostReplicasTried = 4'096;

// -- other nodes

const kube::Node* find_like(const placement::Cluster& nodes, const std::string& like,
                            const std::string& class_label) {
  if (const auto named = nodes.find(like)) return &nodes.node(*named);
  const kube::Node* of_class = nullptr;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const kube::Node& node = nodes.node(i);
    const auto label = node.labels.find(class_label);
    if (label == node.labels.end() || std::string_view(label->second) != like) continue;
    if (node.ready && !node.unschedulable) return &node;
    if (of_class == nullptr) of_class = &node;
  }
  return of_class;
}

std::shared_ptr<const kube::Node> make_node_like(const kube::Node& node, int number) {
  auto made = std::make_shared<kube::Node>(node);
  made->name = fmt::format("{}-simulated-{}", node.name, number);
  made->uid = made->name;
  made->ready = true;
  made->unschedulable = false;
  if (made->labels.contains(kube::kHostname)) made->labels[kube::kHostname] = made->name;
  return made;
}

Result<placement::Cluster> change_nodes(const placement::Cluster& nodes, const WhatIf& what,
                                        const std::string& class_label) {
  if (what.added.empty() && what.removed.empty()) return nodes.for_one_plan();
  for (const std::string& name : what.removed) {
    if (!nodes.find(name)) return Error{Code::kInvalid, "there is no node " + name};
  }
  const std::set<std::string_view> removed(what.removed.begin(), what.removed.end());
  std::vector<placement::NodeView> views;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (removed.count(nodes.node(i).name) == 0) views.push_back(nodes.view(i));
  }
  int number = 0;
  for (const AddedNodes& added : what.added) {
    const kube::Node* like = find_like(nodes, added.like, class_label);
    if (like == nullptr) {
      return Error{Code::kInvalid,
                   fmt::format("no node has the name or the class {0}: the class is the value of "
                               "the node label {1}",
                               added.like, class_label)};
    }
    for (int i = 0; i < added.count; ++i) {
      auto node = make_node_like(*like, ++number);
      kube::Resources free = node->allocatable;
      views.push_back({std::move(node), std::move(free)});
    }
  }
  return placement::Cluster(views);
}

// -- one question to the scheduling cycle

struct Cycle {
  const Snapshot& snapshot;
  SysTime now;
  const HealingOptions& healing;

  CycleResult run(const CycleState& state) const {
    return run_cycle(snapshot, CycleState(state), now, healing);
  }
};

const gang::PodGroupStatus* find_status(const CycleResult& result, const std::string& uid) {
  for (const StatusWrite& write : result.writes) {
    if (write.group->meta.uid == uid) return &write.status;
  }
  return nullptr;
}

bool has_planned_base(const gang::PodGroupStatus& status) {
  return !status.gangs.empty() && status.gangs.front().planned;
}

GroupSeen see(gang::PodGroup group, const Snapshot& snapshot) {
  GroupSeen seen;
  seen.group = std::make_shared<const gang::PodGroup>(std::move(group));
  if (snapshot.facts.quotas.empty()) return seen;
  for (const gang::MemberSet& set : gang::all_sets(seen.group->spec.gangs)) {
    for (const gang::SlotId slot : set.slots) seen.without_pod.emplace_back(set.role, slot.ordinal);
  }
  std::sort(seen.without_pod.begin(), seen.without_pod.end());
  return seen;
}

std::vector<NodeUse> count_pods(const gang::GangStatus& gang) {
  std::map<std::string, NodeUse> by_node;
  const auto add = [&](const std::string& node, const std::string& role, int pods) {
    NodeUse& use = by_node[node];
    use.node = node;
    use.pods[role] += pods;
  };
  for (const gang::Placement& placement : gang.placements) add(placement.node, placement.role, 1);
  std::vector<NodeUse> uses;
  for (auto& [name, use] : by_node) uses.push_back(std::move(use));
  return uses;
}

Answer describe(const gang::PodGroupStatus& status) {
  const gang::GangStatus& base = status.gangs.front();
  Answer answer;
  const bool is_impossible = base.cause && gang::is_proof(*base.cause);
  answer.verdict =
      base.planned ? Verdict::kStarts : (is_impossible ? Verdict::kNever : Verdict::kWaits);
  answer.reason = base.reason;
  answer.message = base.message;
  answer.cause = base.cause;
  answer.queue = status.queue;
  answer.nodes = count_pods(base);
  return answer;
}

// -- how many replicas at most?

// The set whose number of pods is searched for: collectors, else learners.
gang::MemberSet* find_growing_set(gang::Gang& base) {
  for (const std::string_view role : {"collector", "learner"}) {
    for (gang::MemberSet& set : base.members) {
      if (set.role == role && !set.slots.empty()) return &set;
    }
  }
  return nullptr;
}

bool would_start(const Cycle& cycle, Snapshot& snapshot, const CycleState& state,
                 const gang::PodGroup& group, const std::string& set_name, int count) {
  gang::PodGroup changed = group;
  for (gang::MemberSet& set : changed.spec.gangs.front().members) {
    if (set.name != set_name) continue;
    set.slots.clear();
    for (int i = 0; i < count; ++i) set.slots.push_back({i, 0});
  }
  auto& members = changed.spec.gangs.front().members;
  std::erase_if(members,
                [](const auto& set) { return set.slots.empty() && set.reserved_pods == 0; });
  if (members.empty()) return true;  // nothing beside these replicas
  snapshot.groups.back() = see(std::move(changed), snapshot);
  const CycleResult result = cycle.run(state);
  const auto* status = find_status(result, snapshot.groups.back().group->meta.uid);
  return status != nullptr && has_planned_base(*status);
}

std::optional<MostReplicas> find_most(Snapshot& snapshot, const CycleState& state, SysTime now,
                                      const HealingOptions& healing, bool starts) {
  gang::PodGroup group = *snapshot.groups.back().group;
  const gang::MemberSet* set = find_growing_set(group.spec.gangs.front());
  if (set == nullptr) return std::nullopt;
  const Cycle cycle{snapshot, now, healing};
  const int asked = static_cast<int>(set->slots.size());
  MostReplicas most{set->role, starts ? asked : -1, false};
  int too_many = starts ? kMostReplicasTried + 1 : asked;
  int left = kMostCycles;
  const auto fits = [&](int count) {
    --left;
    const bool it_does = would_start(cycle, snapshot, state, group, set->name, count);
    it_does ? most.count = count : too_many = count;
    return it_does;
  };
  while (starts && left > 0 && too_many > kMostReplicasTried && most.count < kMostReplicasTried) {
    fits(std::min(2 * most.count, kMostReplicasTried));
  }
  while (left > 0 && too_many - most.count > 1) fits(most.count + (too_many - most.count) / 2);
  most.is_at_least = too_many - most.count > 1;
  return most;
}

// -- which waiting jobs would start with other nodes?

std::set<std::string> list_started(const CycleResult& result) {
  std::set<std::string> uids;
  for (const StatusWrite& write : result.writes) {
    const bool was_planned = has_planned_base(write.group->status);
    if (!was_planned && has_planned_base(write.status)) uids.insert(write.group->meta.uid);
  }
  return uids;
}

void add_started(const CycleResult& with, const std::set<std::string>& without, const WhatIf& what,
                 Answer& answer) {
  for (const StatusWrite& write : with.writes) {
    const kube::Meta& meta = write.group->meta;
    const bool is_started =
        !has_planned_base(write.group->status) && has_planned_base(write.status);
    if (!is_started || without.count(meta.uid) > 0) continue;
    if (what.group && meta.uid == what.group->meta.uid) continue;
    if (meta.ns.str() != what.ns) {
      ++answer.started_elsewhere;
    } else {
      answer.started.push_back(meta.owner ? meta.owner->name : meta.name);
    }
  }
  std::sort(answer.started.begin(), answer.started.end());
}

Answer describe_nodes(const Answer& answer) {
  const std::size_t all =
      answer.started.size() + static_cast<std::size_t>(answer.started_elsewhere);
  Answer named = answer;
  named.verdict = all > 0 ? Verdict::kStarts : Verdict::kWaits;
  named.message = all == 0
                      ? "no waiting job would start"
                      : fmt::format("{} waiting {} would start", all, all == 1 ? "job" : "jobs");
  return named;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kStarts:
      return "Starts";
    case Verdict::kWaits:
      return "Waits";
    case Verdict::kNever:
      return "Never";
    case Verdict::kInvalid:
      return "Invalid";
  }
  return "";
}

Answer refuse(std::string message) {
  Answer answer;
  answer.reason = "Invalid";
  answer.message = std::move(message);
  return answer;
}

Answer simulate(Snapshot snapshot, const WhatIf& what, SysTime now, const HealingOptions& healing) {
  const bool changes_nodes = !what.added.empty() || !what.removed.empty();
  std::set<std::string> start_anyway;
  if (changes_nodes) {
    Snapshot as_is = snapshot;
    as_is.nodes = snapshot.nodes.for_one_plan();
    start_anyway = list_started(Cycle{as_is, now, healing}.run({}));
  }
  auto nodes = change_nodes(snapshot.nodes, what, snapshot.facts.class_label);
  if (!nodes) return refuse(nodes.error().message);
  snapshot.nodes = *std::move(nodes);
  if (what.group) snapshot.groups.push_back(see(*what.group, snapshot));
  const CycleResult result = Cycle{snapshot, now, healing}.run({});
  Answer answer;
  if (what.group) {
    const auto* status = find_status(result, what.group->meta.uid);
    if (status == nullptr || status->gangs.empty()) {
      return refuse("the scheduling cycle has not looked at it");
    }
    answer = describe(*status);
  }
  if (changes_nodes) add_started(result, start_anyway, what, answer);
  if (!what.group) return describe_nodes(answer);
  if (what.asks_for_most && answer.verdict != Verdict::kInvalid) {
    answer.most =
        find_most(snapshot, result.state, now, healing, answer.verdict == Verdict::kStarts);
  }
  return answer;
}

}  // namespace nervex::extender
