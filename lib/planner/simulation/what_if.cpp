#include "planner/simulation/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "kube/model/anti_affinity.h"
#include "planner/scheduling_cycle.h"

namespace nervex::planner {
namespace {

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

// Kubernetes gives a node these taints while it is cordoned, not ready or short of something.
bool is_of_condition(const kube::Taint& taint) {
  return std::string_view(taint.key).starts_with("node.kubernetes.io/");
}

std::shared_ptr<const kube::Node> make_node_like(const kube::Node& node, int number) {
  auto made = std::make_shared<kube::Node>(node);
  made->name = fmt::format("{}-simulated-{}", node.name, number);
  made->uid = made->name;
  made->ready = true;
  made->unschedulable = false;
  std::vector<kube::Taint> taints;
  std::copy_if(node.taints.begin(), node.taints.end(), std::back_inserter(taints),
               [](const kube::Taint& taint) { return !is_of_condition(taint); });
  made->taints = kube::SharedVector<kube::Taint>(std::move(taints));
  if (made->labels.contains(kube::kHostname)) made->labels[kube::kHostname] = made->name;
  return made;
}

// What runs or is reserved there stays.
kube::Resources take_all(const kube::Resources& free) {
  kube::Resources left;
  for (const auto& [resource, amount] : free.amounts()) {
    left.set(resource, std::min<std::int64_t>(amount, 0));
  }
  return left;
}

Result<placement::Cluster> change_nodes(const placement::Cluster& nodes, const WhatIf& what,
                                        const std::string& class_label) {
  if (what.added.empty() && what.removed.empty()) return nodes.for_one_plan();
  for (const std::string& name : what.removed) {
    if (!nodes.find(name)) return Error{Code::kInvalid, "there is no node " + name};
  }
  const std::set<std::string_view> removed(what.removed.begin(), what.removed.end());
  std::vector<placement::NodeView> views;
  views.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    views.push_back(nodes.view(i));
    if (removed.count(nodes.node(i).name) > 0) views.back().free = take_all(views.back().free);
  }
  int number = 0;
  for (const AddedNodes& added : what.added) {
    const kube::Node* like = find_like(nodes, added.like, class_label);
    if (like == nullptr) {
      return Error{Code::kInvalid,
                   fmt::format("no node has the name or the class {}: the class is the value of "
                               "the node label {}",
                               added.like, class_label)};
    }
    for (int i = 0; i < added.count; ++i) {
      auto node = make_node_like(*like, ++number);
      kube::Resources free = node->allocatable;
      views.push_back({std::move(node), std::move(free)});
    }
  }
  placement::Cluster changed(views);
  changed.set_labels(nodes.shared_labels());
  return changed;
}

// -- one question to the scheduling cycle

const gang::PodGroupStatus* find_status(const CycleResult& result, const std::string& uid) {
  for (const StatusWrite& write : result.writes) {
    if (write.group->meta.uid == uid) return &write.status;
  }
  return nullptr;
}

// Slots of the PodGroup without a pod: those that had none, and those that are new.
std::vector<std::pair<std::string_view, int>> list_without_pod(const gang::PodGroup& group,
                                                               const GroupSeen* before,
                                                               const gang::PodGroup* existing) {
  std::set<std::pair<std::string, int>> had_none;
  std::set<std::pair<std::string, int>> known;
  if (before != nullptr) had_none.insert(before->without_pod.begin(), before->without_pod.end());
  if (existing != nullptr) {
    for (const gang::MemberSet& set : gang::all_sets(existing->spec.gangs)) {
      for (const gang::SlotId slot : set.slots) known.emplace(set.role, slot.ordinal);
    }
  }
  std::vector<std::pair<std::string_view, int>> without;
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    for (const gang::SlotId slot : set.slots) {
      const std::pair key(set.role, slot.ordinal);
      if (known.count(key) == 0 || had_none.count(key) > 0) {
        without.emplace_back(set.role, slot.ordinal);
      }
    }
  }
  std::sort(without.begin(), without.end());
  return without;
}

// Asks what becomes of the candidate. A PodGroup that is not in the snapshot is settled: nothing of
// it had to be decided.
class Cycle {
 public:
  Cycle(Snapshot snapshot, const Candidate* candidate, SysTime now, const CycleOptions& options)
      : snapshot_(std::move(snapshot)), candidate_(candidate), now_(now), options_(options) {
    options_.reservation.may_begin = false;
    if (candidate_ == nullptr) return;
    auto& groups = snapshot_.groups;
    const auto at = std::find_if(groups.begin(), groups.end(), [this](const GroupSeen& seen) {
      return candidate_->existing && seen.group->meta.uid == candidate_->existing->meta.uid;
    });
    at_ = static_cast<std::size_t>(at - groups.begin());
    if (at == groups.end()) add_existing();
    before_ = groups[at_];
  }

  bool is_being_written() const { return before_.unconfirmed; }

  // What starts now: nothing is preempted for it.
  CycleResult run(int replicas, CycleState state) {
    state.preemption.asked.emplace();
    return run_cycle_with(replicas, std::move(state));
  }
  // The same, and the candidate may preempt. Other gangs that wait may not: if they could they
  // would have by now.
  CycleResult run_with_preemption(int replicas) {
    CycleState state;
    if (candidate_ == nullptr) return run(replicas, std::move(state));
    state.preemption.asked.emplace(candidate_->make(replicas).meta.uid, candidate_->gang);
    return run_cycle_with(replicas, std::move(state));
  }
  // If it reserved nodes now, and no other gang took them: when all that it waits for has ended, at
  // the latest. nullopt: no such time is known.
  std::optional<SysTime> find_latest_start(int replicas) {
    CycleState state;
    put(replicas);
    state.preemption.asked = GangKey();  // none preempts
    state.reservation.asked = GangKey(snapshot_.groups[at_].group->meta.uid, candidate_->gang);
    CycleOptions at_once = options_;
    at_once.reservation = {std::chrono::milliseconds(1), std::numeric_limits<int>::max()};
    const CycleResult result = run_cycle(snapshot_, std::move(state), now_, at_once);
    const gang::PodGroupStatus* status = find_status(result);
    const auto* gang = status == nullptr ? nullptr : gang::find_gang(*status, candidate_->gang);
    return gang == nullptr || !gang->reservation ? std::nullopt : gang->reservation->due;
  }
  // The candidate's status of that result; nullptr: there is none.
  const gang::PodGroupStatus* find_status(const CycleResult& result) const {
    return planner::find_status(result, snapshot_.groups[at_].group->meta.uid);
  }

 private:
  void add_existing() {
    GroupSeen& seen = snapshot_.groups.emplace_back();
    if (!candidate_->existing) return;
    seen.group = candidate_->existing;
    seen.is_settled = true;
    auto& running = snapshot_.running;
    const auto at = std::find_if(running.begin(), running.end(), [&](const RunningGroup& one) {
      return one.group->meta.uid == seen.group->meta.uid;
    });
    if (at == running.end()) return;
    seen.finished = std::move(at->finished);
    seen.uses = std::move(at->uses);
    running.erase(at);
  }
  CycleResult run_cycle_with(int replicas, CycleState state) {
    if (candidate_ != nullptr) put(replicas);
    return run_cycle(snapshot_, std::move(state), now_, options_);
  }
  void put(int replicas) {
    GroupSeen& seen = snapshot_.groups[at_];
    seen = before_;
    auto group = std::make_shared<const gang::PodGroup>(candidate_->make(replicas));
    if (!snapshot_.facts.quotas.empty()) {
      seen.without_pod = list_without_pod(*group, &before_, candidate_->existing.get());
    }
    seen.workloads = nullptr;
    if (seen.uses) {
      seen.uses = std::make_shared<const queue::OtherUses>(queue::find_again(*seen.uses, *group));
    }
    seen.group = std::move(group);
  }

  Snapshot snapshot_;
  const Candidate* candidate_;
  const SysTime now_;
  CycleOptions options_;  // no nodes are reserved
  std::size_t at_ = 0;    // of the candidate's PodGroup
  GroupSeen before_;
};

std::vector<NodeUse> count_pods(const gang::GangStatus& gang) {
  std::map<std::string, NodeUse> by_node;
  const auto add = [&](const std::string& node, const std::string& role, int pods) {
    NodeUse& use = by_node[node];
    use.node = node;
    use.pods[role] += pods;
  };
  for (const gang::Placement& placement : gang.placements) add(placement.node, placement.role, 1);
  for (const gang::ReservedCapacity& entry : gang.reserved)
    add(entry.node, "reserved", entry.count);
  std::vector<NodeUse> uses;
  uses.reserve(by_node.size());
  for (auto& [name, use] : by_node) uses.push_back(std::move(use));
  return uses;
}

Answer describe(const gang::PodGroupStatus& status, const gang::GangStatus& gang) {
  Answer answer;
  const bool is_impossible = gang.cause && gang::is_proof(*gang.cause);
  if (gang.planned) {
    answer.verdict = SimulationVerdict::kStarts;
  } else if (gang::is_preempting(gang)) {
    answer.verdict = SimulationVerdict::kPreempts;
  } else {
    answer.verdict = is_impossible ? SimulationVerdict::kNever : SimulationVerdict::kWaits;
  }
  answer.victims = gang.victims;
  answer.reason = gang.reason;
  answer.message = gang.message;
  answer.cause = gang.cause;
  answer.queue = status.queue;
  answer.nodes = count_pods(gang);
  return answer;
}

// -- how many replicas at most?

bool would_start(Cycle& cycle, const CycleState& state, const Candidate& candidate, int replicas) {
  const CycleResult result = cycle.run(replicas, state);
  const auto* status = cycle.find_status(result);
  const auto* gang = status == nullptr ? nullptr : gang::find_gang(*status, candidate.gang);
  return gang != nullptr && gang->planned;
}

// Doubling, then halving: 24 cycles at most.
MostReplicas find_most(Cycle& cycle, const CycleState& state, const Candidate& candidate,
                       bool starts) {
  MostReplicas most{candidate.role, starts ? candidate.replicas : -1, false};
  int too_many = starts ? kMostReplicasTried + 1 : candidate.replicas;
  const auto try_with = [&](int replicas) {
    if (would_start(cycle, state, candidate, replicas)) {
      most.count = replicas;
    } else {
      too_many = replicas;
    }
  };
  while (too_many > kMostReplicasTried && most.count < kMostReplicasTried) {
    try_with(std::clamp(2 * most.count, 1, kMostReplicasTried));
  }
  while (too_many - most.count > 1) try_with(most.count + (too_many - most.count) / 2);
  most.is_at_least = most.count == kMostReplicasTried;
  return most;
}

// -- which waiting jobs would start with other nodes?

bool starts_any(const StatusWrite& write) {
  const auto& gangs = write.status.gangs;
  return std::any_of(gangs.begin(), gangs.end(), [&](const gang::GangStatus& gang) {
    const auto* before = gang::find_gang(write.group->status, gang.name);
    return gang.planned && (before == nullptr || !before->planned);
  });
}

std::set<std::string> list_started(const CycleResult& result) {
  std::set<std::string> uids;
  for (const StatusWrite& write : result.writes) {
    if (starts_any(write)) uids.insert(write.group->meta.uid);
  }
  return uids;
}

void add_started(const CycleResult& with, const std::set<std::string>& without,
                 const std::string& own_ns, const gang::PodGroupStatus* own, Answer& answer) {
  for (const StatusWrite& write : with.writes) {
    const kube::Meta& meta = write.group->meta;
    if (!starts_any(write) || without.count(meta.uid) > 0 || &write.status == own) continue;
    if (meta.ns.str() != own_ns) {
      ++answer.started_elsewhere;
    } else {
      answer.started.push_back(meta.owner ? meta.owner->name : meta.name);
    }
  }
  std::sort(answer.started.begin(), answer.started.end());
}

void describe_nodes(Answer& answer) {
  const std::size_t all =
      answer.started.size() + static_cast<std::size_t>(answer.started_elsewhere);
  answer.verdict = all > 0 ? SimulationVerdict::kStarts : SimulationVerdict::kWaits;
  answer.message = all == 0
                       ? "no waiting job would start"
                       : fmt::format("{} waiting {} would start", all, all == 1 ? "job" : "jobs");
}

}  // namespace

std::string_view to_string(SimulationVerdict verdict) {
  switch (verdict) {
    case SimulationVerdict::kStarts:
      return "Starts";
    case SimulationVerdict::kPreempts:
      return "Preempts";
    case SimulationVerdict::kWaits:
      return "Waits";
    case SimulationVerdict::kNever:
      return "Never";
    case SimulationVerdict::kInvalid:
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

Answer simulate(Snapshot snapshot, const WhatIf& what, SysTime now, const CycleOptions& options) {
  if (!what.candidate && what.added.empty()) {
    return refuse("fewer nodes start nothing: name a job, or nodes that are added");
  }
  auto nodes = change_nodes(snapshot.nodes, what, snapshot.facts.class_label);
  if (!nodes) return refuse(nodes.error().message);
  const bool changes_nodes = !what.added.empty() || !what.removed.empty();
  std::set<std::string> start_anyway;
  if (changes_nodes) {
    snapshot.nodes = snapshot.nodes.for_one_plan();
    start_anyway = list_started(Cycle(snapshot, nullptr, now, options).run(0, {}));
  }
  snapshot.nodes = *std::move(nodes);
  const Candidate* const candidate = what.candidate ? &*what.candidate : nullptr;
  Cycle cycle(std::move(snapshot), candidate, now, options);
  if (candidate != nullptr && cycle.is_being_written()) {
    return refuse("a decision about the job is being written: ask again");
  }
  const CycleResult result =
      cycle.run_with_preemption(candidate == nullptr ? 0 : candidate->replicas);
  Answer answer;
  const gang::PodGroupStatus* status = nullptr;
  if (candidate != nullptr) {
    status = cycle.find_status(result);
    const auto* gang = status == nullptr ? nullptr : gang::find_gang(*status, candidate->gang);
    if (gang == nullptr) return refuse("nothing was decided about the job: ask again");
    answer = describe(*status, *gang);
  }
  if (changes_nodes) add_started(result, start_anyway, what.ns, status, answer);
  if (candidate == nullptr) {
    describe_nodes(answer);
  } else if (!candidate->role.empty()) {
    const bool starts = answer.verdict == SimulationVerdict::kStarts;
    answer.most = find_most(cycle, result.state, *candidate, starts);
  }
  return answer;
}

std::optional<SysTime> find_latest_start(Snapshot snapshot, const WhatIf& what, SysTime now,
                                         const CycleOptions& options) {
  auto nodes = change_nodes(snapshot.nodes, what, snapshot.facts.class_label);
  if (!nodes || !what.candidate) return std::nullopt;
  snapshot.nodes = *std::move(nodes);
  Cycle cycle(std::move(snapshot), &*what.candidate, now, options);
  if (cycle.is_being_written()) return std::nullopt;
  return cycle.find_latest_start(what.candidate->replicas);
}

}  // namespace nervex::planner
