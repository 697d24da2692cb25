#include "tests/planner/stored_cluster.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "gang/slot.h"
#include "planner/facts/settled.h"
#include "planner/preemption/preempting.h"
#include "planner/work/ending.h"
#include "queue/preemption.h"

namespace nervex::testing {

using planner::VictimState;

const gang::PodGroup* StoredCluster::find_uid(std::string_view uid) const {
  const auto at = std::find_if(groups.begin(), groups.end(),
                               [&](const auto& group) { return group.meta.uid == uid; });
  return at == groups.end() ? nullptr : &*at;
}
gang::PodGroup* StoredCluster::find_uid(std::string_view uid) {
  return const_cast<gang::PodGroup*>(std::as_const(*this).find_uid(uid));
}
gang::PodGroup* StoredCluster::find(std::string_view name) {
  const auto at = std::find_if(groups.begin(), groups.end(),
                               [&](const auto& group) { return group.meta.name == name; });
  return at == groups.end() ? nullptr : &*at;
}

bool StoredCluster::is_named(std::string_view uid, std::string_view gang) const {
  for (const gang::PodGroup& group : groups) {
    for (const gang::GangStatus& preemptor : group.status.gangs) {
      for (const gang::Victim& victim : preemptor.victims) {
        if (victim.pod_group_uid == uid && (gang.empty() || victim.gang == gang)) return true;
      }
    }
  }
  return false;
}

void StoredCluster::set_tree() {
  std::vector<queue::QueuePtr> shared;
  for (const queue::Queue& one : queues)
    shared.push_back(std::make_shared<const queue::Queue>(one));
  tree = std::make_shared<const queue::QueueTree>(std::move(shared));
}

void StoredCluster::store(const std::vector<queue::Report>& reports) {
  bool is_any_changed = false;
  for (const queue::Report& report : reports) {
    for (queue::Queue& queue : queues) {
      if (queue.name != report.queue || queue.preemptions == report.preemptions) continue;
      queue.preemptions = report.preemptions;
      is_any_changed = true;
    }
  }
  if (is_any_changed) set_tree();
}

bool StoredCluster::is_counted(std::string_view uid, std::string_view name) const {
  for (const gang::PodGroup& group : groups) {
    for (const gang::GangStatus& gang : group.status.gangs) {
      const bool ends = std::any_of(
          gang.victims.begin(), gang.victims.end(),
          [&](const auto& victim) { return victim.pod_group_uid == uid && victim.gang == name; });
      if (!ends) continue;
      if (group.status.queue.name.empty()) return true;
      for (const queue::Queue& queue : queues) {
        const auto& times = queue.preemptions;
        if (queue.name != group.status.queue.name) continue;
        return times.size() <= queue::kMostPreemptions &&
               std::find(times.begin(), times.end(), gang.since) != times.end();
      }
    }
  }
  return false;
}

void StoredCluster::terminate(const gang::PodGroup& group, const gang::GangStatus& gang,
                              const gang::Placement& placement, SysTime until) {
  kube::Pod pod;
  pod.meta.ns = group.meta.ns;
  pod.meta.name = group.meta.name + "-" + std::to_string(placement.number);
  pod.meta.uid = group.meta.uid + "-" + std::to_string(placement.number);
  pod.meta.deleting = true;
  for (const auto& [key, value] :
       gang::annotations_for({group.meta.uid, placement.role, placement.slot, placement.number})) {
    pod.meta.annotations[key] = value;
  }
  pod.meta.annotations[std::string(gang::kQueueAnnotation)] = group.status.queue.name;
  pod.node = placement.node;
  pod.requests = gang::find_gang(group.spec, gang.name)->members.at(0).shape.requests;
  pod.deletion_timestamp = until;
  terminating.push_back(std::make_shared<const kube::Pod>(std::move(pod)));
}

void StoredCluster::terminate(const gang::PodGroup& group, const gang::GangStatus& gang,
                              SysTime until) {
  for (const gang::Placement& placement : gang.placements) {
    if (!is_terminating(group, placement.number)) terminate(group, gang, placement, until);
  }
}

bool StoredCluster::is_terminating(const gang::PodGroup& group, std::int64_t placement) const {
  return std::any_of(terminating.begin(), terminating.end(), [&](const auto& pod) {
    const auto slot = gang::pod_slot(*pod);
    return slot && slot->pod_group_uid == group.meta.uid && slot->placement == placement &&
           pod->meta.ns == group.meta.ns;
  });
}

bool StoredCluster::is_placed(const kube::Pod& pod) const {
  const auto slot = gang::pod_slot(pod);
  const gang::PodGroup* group = slot ? find_uid(slot->pod_group_uid) : nullptr;
  if (group == nullptr) return false;
  const auto* placement = gang::find_placement(group->status, slot->role, slot->slot);
  return placement != nullptr && placement->number == slot->placement;
}

void StoredCluster::requeue(gang::PodGroup& group, SysTime until) {
  for (const gang::GangStatus& gang : group.status.gangs) {
    if (gang::find_gang(group.spec, gang.name) != nullptr) terminate(group, gang, until);
  }
  group.meta.name += kAgain;
  group.meta.uid += kAgain;
  group.spec.gangs.resize(1);
  group.status = {};
}

void StoredCluster::requeue_request(gang::PodGroup& group, std::size_t gang, SysTime until) {
  terminate(group, group.status.gangs.at(gang), until);
  for (gang::SlotId& slot : group.spec.gangs.at(gang).members.at(0).slots) ++slot.incarnation;
  ++group.meta.generation;
}

bool StoredCluster::try_bind(gang::GangStatus& gang, const gang::PodGroup& group,
                             SysTime now) const {
  std::map<std::string, std::int64_t> need;
  for (const auto& placement : gang.placements) need[placement.node] += gpus_of(group);
  const auto free = free_nodes();
  const bool fits = std::all_of(need.begin(), need.end(), [&](const auto& one) {
    return std::any_of(free.begin(), free.end(), [&](const placement::NodeView& node) {
      return node.node->name == one.first && node.free.get(kGpu) >= one.second;
    });
  });
  if (!fits) return false;
  gang.committed = true;
  gang.started_at = now;
  return true;
}

std::vector<placement::NodeView> StoredCluster::free_nodes() const {
  std::vector<placement::NodeView> free = nodes;
  const auto take = [&](std::string_view name, const kube::Resources& amount) {
    for (placement::NodeView& view : free) {
      if (view.node->name == name) view.free -= amount;
    }
  };
  for (const gang::PodGroup& group : groups) {
    for (const gang::GangStatus& gang : group.status.gangs) {
      const gang::Gang* spec = gang::find_gang(group.spec, gang.name);
      if (!gang.committed || spec == nullptr) continue;
      for (const auto& placement : gang.placements) {
        if (is_terminating(group, placement.number)) continue;
        if (finished.count({group.meta.uid, placement.number}) > 0) continue;
        if (!gang::wants(spec->members[0], placement.role, placement.slot)) continue;
        take(placement.node, spec->members[0].shape.requests);
      }
      for (const gang::ReservedCapacity& one : gang.reserved) {
        const gang::MemberSet* set = gang::find_set(group.spec, one.set);
        for (int i = 0; set != nullptr && i < one.count; ++i) take(one.node, set->shape.requests);
      }
    }
  }
  for (const auto& [node, gpus] : others) take(node, ask(gpus));
  for (const auto& pod : terminating) take(pod->node.str(), pod->requests);
  return free;
}

std::int64_t StoredCluster::free_gpus(std::string_view node) const {
  const auto free = free_nodes();
  return std::find_if(free.begin(), free.end(),
                      [&](const auto& view) { return view.node->name == node; })
      ->free.get(kGpu);
}

// As the cache sees it: pods outlive their placements, and their PodGroup.
VictimState StoredCluster::see_victim(const gang::Victim& victim) const {
  const gang::PodGroup* group = find_uid(victim.pod_group_uid);
  const VictimState found = planner::judge_victim(group, victim);
  if (found != VictimState::kGone) return found;
  const bool ends_all = group == nullptr && victim.gang == gang::kBaseGang;
  const std::int64_t through = ends_all ? std::numeric_limits<std::int64_t>::max() : victim.through;
  const bool is_live = std::any_of(terminating.begin(), terminating.end(), [&](const auto& pod) {
    const auto slot = gang::pod_slot(*pod);
    return slot && slot->pod_group_uid == victim.pod_group_uid && slot->placement <= through &&
           !is_placed(*pod);
  });
  return is_live ? VictimState::kEnding : VictimState::kGone;
}

planner::GroupSeen StoredCluster::see(const gang::PodGroup& group) const {
  planner::GroupSeen seen{std::make_shared<const gang::PodGroup>(group), false, {}};
  seen.is_settled = planner::is_settled(group, {});
  seen.unusable_claims = unusable_claims;
  seen.unconfirmed = unconfirmed.count(group.meta.name) > 0;
  for (const gang::GangStatus& gang : group.status.gangs) {
    for (const gang::Victim& victim : gang.victims) {
      seen.victims[gang.name].push_back(see_victim(victim));
    }
  }
  seen.is_victim = is_named(group.meta.uid);
  for (const auto& [uid, number] : finished) {
    if (uid == group.meta.uid) seen.finished.insert(number);
  }
  seen.uses = std::make_shared<const queue::OtherUses>(list_uses(group));
  for (const gang::GangStatus& gang : group.status.gangs) {
    for (const gang::Placement& placement : gang.placements) {
      if (lost.count({group.meta.uid, placement.number}) == 0) continue;
      seen.open.push_back({placement, planner::OpenSlot::Why::kNodeLost, "its node is lost"});
    }
  }
  return seen;
}

// Finished slots, and pods on other nodes than those of their slots.
queue::OtherUses StoredCluster::list_uses(const gang::PodGroup& group) const {
  queue::OtherUses uses;
  const queue::SlotNumbers counted = queue::list_counted_slots(group);
  for (std::size_t i = 0; i < group.spec.gangs.size(); ++i) {
    const gang::MemberSet& set = group.spec.gangs[i].members.at(0);
    for (const gang::SlotId slot : set.slots) {
      const auto* placement = gang::find_placement(group.status, set.role, slot);
      queue::OtherUse use{set.role, slot, i, 0};
      use.is_over = placement == nullptr ? gang::is_growing(set, slot)
                                         : finished.count({group.meta.uid, placement->number}) > 0;
      for (const auto& pod : terminating) {
        const auto own = gang::pod_slot(*pod);
        const bool is_of_slot = own && own->pod_group_uid == group.meta.uid &&
                                own->role == set.role && own->slot.ordinal == slot.ordinal;
        if (!is_of_slot || !queue::contains(counted, set.role, slot.ordinal)) continue;
        if (placement != nullptr && placement->node == pod->node) continue;
        use.pods.push_back({pod->node, pod->requests});
      }
      if (use.is_over || !use.pods.empty()) uses.push_back(std::move(use));
    }
  }
  std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
    return std::tie(a.role, a.slot) < std::tie(b.role, b.slot);
  });
  return uses;
}

// As OrphanedPods: pods that do not count with their slot.
std::vector<queue::Workload> StoredCluster::list_orphaned() const {
  std::map<std::string, queue::Workload> by_id;
  for (const auto& pod : terminating) {
    const auto slot = gang::pod_slot(*pod);
    if (!slot) continue;
    const gang::PodGroup* group = find_uid(slot->pod_group_uid);
    const bool is_counted = group != nullptr && queue::contains(queue::list_counted_slots(*group),
                                                                slot->role, slot->slot.ordinal);
    if (is_counted) continue;
    const std::string id = pod->meta.ns.str() + "/" + slot->pod_group_uid;
    queue::Workload& workload = by_id[id];
    workload.id = id;
    workload.queue = kube::annotation(pod->meta, gang::kQueueAnnotation);
    workload.state = queue::Workload::State::kRunning;
    queue::add_requests(workload.requests, pod->requests);
  }
  std::vector<queue::Workload> orphaned;
  for (auto& [id, workload] : by_id) orphaned.push_back(std::move(workload));
  return orphaned;
}

planner::Snapshot StoredCluster::snapshot(bool sees_ending) const {
  planner::Snapshot snapshot;
  snapshot.nodes = free_nodes();
  snapshot.facts.class_label = "class";
  const queue::FindClass find_class = planner::find_classes(snapshot);
  queue::SettledWorkloads settled;
  settled.set_tree(tree);
  for (const gang::PodGroup& group : groups) {
    planner::GroupSeen seen = see(group);
    if (seen.is_settled) {
      std::vector<queue::Workload> workloads = queue::list_workloads(group, seen.uses.get());
      for (queue::Workload& one : workloads) {
        queue::count_classes(one, group, seen.uses.get(), find_class);
      }
      settled.set(group.meta.uid, share(std::move(workloads)));
    }
    snapshot.groups.push_back(std::move(seen));
  }
  snapshot.facts.settled = settled.get();
  if (!tree->is_root_alone()) snapshot.facts.orphaned = list_orphaned();
  auto ns = std::make_shared<kube::Namespace>();
  ns->meta.name = "rl";
  snapshot.facts.namespaces =
      std::make_shared<const queue::Namespaces>(queue::Namespaces{{"rl", ns}});
  if (sees_ending) snapshot.terminating = terminating;
  if (gpu_quota) add_quota(snapshot);
  return snapshot;
}

// Pods of committed gangs exist, and no others.
void StoredCluster::add_quota(planner::Snapshot& snapshot) const {
  kube::Quota quota;
  quota.meta.ns = "rl";
  quota.meta.name = "gpus";
  quota.limits = {{"requests.nvidia.com/gpu", std::string(kGpu), *gpu_quota, 0}};
  for (planner::GroupSeen& seen : snapshot.groups) {
    for (const gang::Gang& gang : seen.group->spec.gangs) {
      const gang::GangStatus* status = gang::find_gang(seen.group->status, gang.name);
      const bool exists = status != nullptr && status->committed;
      for (const gang::MemberSet& set : gang.members) {
        for (const gang::SlotId slot : set.slots) {
          if (exists) quota.limits[0].used += set.shape.requests.get(kGpu);
          if (!exists) seen.without_pod.emplace_back(set.role, slot.ordinal);
        }
      }
    }
    std::sort(seen.without_pod.begin(), seen.without_pod.end());
  }
  snapshot.facts.quotas = {std::make_shared<const kube::Quota>(std::move(quota))};
}

}  // namespace nervex::testing
