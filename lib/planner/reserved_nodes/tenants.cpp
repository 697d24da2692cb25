#include "planner/reserved_nodes/tenants.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gang/slot.h"

namespace nervex::planner {
namespace {

class TenantLister {
 public:
  TenantLister(const Ending& ending, const NodeNames& nodes, SysTime now)
      : ending_(ending), nodes_(nodes), now_(now) {}

  // As this cycle has changed it.
  void add(GroupWork& group) {
    const gang::PodGroup& object = *group.seen->group;
    for (GangWork& gang : group.gangs) {
      if (!gang.is_assumed()) continue;
      NodeAmounts use;
      for (const PlacedSlot& slot : gang.placed) {
        const std::int64_t number = slot.placement.number;
        if (number != 0 && is_over(object, group.seen->finished, number)) continue;
        note(use, *slot.set, slot.placement.node, 1);
      }
      if (gang.kind == gang::GangKind::kBase && gang.is_committed()) {
        note_reserved(use, object, group.reserved.places());
      }
      if (use.empty()) continue;
      NodeTenant& tenant = make(object, group.seen->make_workload(gang.position), std::move(use));
      tenant.workload.queue = group.queue.name;
      tenant.is_ending = tenant.is_ending || group.is_drained;
      if (gang.is_committed()) continue;
      tenant.is_starting = true;
      if (gang.victims.empty()) tenant.plan = &gang;
      tenant.latest_end = queue::latest_end(tenant.workload, now_);
    }
  }
  template <typename Seen>
  void add_running(const Seen& seen) {
    const gang::PodGroup& group = *seen.group;
    for (std::size_t i = 0; i < group.spec.gangs.size(); ++i) {
      const gang::Gang& gang = group.spec.gangs[i];
      const gang::GangStatus* status = gang::find_gang(group.status, gang.name);
      if (status == nullptr || !status->committed) continue;
      NodeAmounts use;
      std::map<gang::SlotKey, const gang::MemberSet*> sets;  // most gangs are elsewhere
      for (const gang::Placement& placement : status->placements) {
        if (nodes_.count(placement.node) == 0 || is_over(group, seen.finished, placement.number)) {
          continue;
        }
        if (sets.empty()) sets = index_sets(gang);
        const auto set = sets.find(gang::SlotKey(placement.role, placement.slot));
        if (set != sets.end()) note(use, *set->second, placement.node, 1);
      }
      note_reserved(use, group, status->reserved);
      if (!use.empty()) make(group, seen.make_workload(i), std::move(use));
    }
  }
  void add_terminating(const kube::Pod& pod) {
    if (nodes_.count(pod.node.str()) == 0) return;
    NodeTenant& tenant = tenants.emplace_back();
    tenant.is_ending = true;
    tenant.is_late = !ending_.is_about_to_end(pod);
    tenant.pod_end = pod.deletion_timestamp;
    tenant.use.emplace(pod.node.str(), pod.requests);
  }

  std::vector<NodeTenant> tenants;

 private:
  // Its pod uses nothing, or counts by itself.
  bool is_over(const gang::PodGroup& group, const FinishedPlacements& finished,
               std::int64_t number) const {
    return finished.count(number) > 0 || ending_.is_terminating(group, number);
  }
  void note(NodeAmounts& use, const gang::MemberSet& set, std::string_view node, int count) const {
    const auto at = nodes_.find(node);
    if (at == nodes_.end()) return;
    kube::Resources& amount = use[std::string(*at)];
    for (int i = 0; i < count; ++i) amount += set.shape.requests;
  }
  void note_reserved(NodeAmounts& use, const gang::PodGroup& group,
                     const std::vector<gang::ReservedCapacity>& reserved) const {
    for (const gang::ReservedCapacity& entry : reserved) {
      const gang::MemberSet* set = gang::find_set(group.spec, entry.set);
      if (set != nullptr) note(use, *set, entry.node, entry.count);
    }
  }
  static std::map<gang::SlotKey, const gang::MemberSet*> index_sets(const gang::Gang& gang) {
    std::map<gang::SlotKey, const gang::MemberSet*> sets;
    for (const gang::MemberSet& set : gang.members) {
      for (const gang::SlotId slot : set.slots) sets.emplace(gang::SlotKey(set.role, slot), &set);
    }
    return sets;
  }
  NodeTenant& make(const gang::PodGroup& group, queue::Workload workload, NodeAmounts use) {
    NodeTenant& tenant = tenants.emplace_back();
    const gang::Gang& gang = group.spec.gangs[static_cast<std::size_t>(workload.position)];
    const auto is_released = [&](std::string_view name) {
      const gang::GangStatus* status = gang::find_gang(group.status, name);
      return status != nullptr && gang::is_released(*status) && ends_wholly(*status);
    };
    tenant.is_ending = ending_.has(group.meta.uid, gang.name) || is_released(gang.name) ||
                       is_released(gang::kBaseGang);
    const gang::GangStatus* own = gang::find_gang(group.status, gang.name);
    tenant.is_starting = own != nullptr && own->healing_since.has_value();
    tenant.latest_end = queue::latest_end(workload);
    tenant.promised_end = find_promised_end(group);
    tenant.job = group.meta.uid;
    tenant.workload = std::move(workload);
    tenant.use = std::move(use);
    return tenant;
  }

  const Ending& ending_;
  const NodeNames& nodes_;
  const SysTime now_;
};

}  // namespace

std::optional<SysTime> find_promised_end(const gang::PodGroup& group) {
  const gang::GangStatus* base = gang::find_gang(group.status, gang::kBaseGang);
  if (base == nullptr || !base->started_at || !base->planned_run_seconds) return std::nullopt;
  const std::chrono::seconds run(*base->planned_run_seconds);
  if (run > 2 * queue::kLongestLimit) return std::nullopt;  // not written by a planner
  return *base->started_at + run;
}

queue::Tenant make_tenant(const RunningGang& gang, const queue::Workload& workload) {
  return {&workload, queue::latest_end(workload), find_promised_end(*gang.group),
          gang.group->meta.uid};
}

bool is_still_reclaimable(const std::vector<std::string_view>& reclaiming_queues,
                          const GroupWork& group, const GangWork& gang, const GroupWork& victim,
                          const GangWork& victim_gang) {
  if (!gang.reservation) return false;
  const queue::Workload head = group.seen->make_workload(gang.position);
  const queue::Workload other = victim.seen->make_workload(victim_gang.position);
  return queue::is_reclaimable(
      {queue::rank(head), gang.reservation->since, gang.reservation->due,
       gang.reservation->counts_on, reclaiming_queues},
      {&other, queue::latest_end(other), find_promised_end(*victim.seen->group),
       victim.seen->group->meta.uid});
}

std::vector<NodeTenant> list_tenants(const CycleFacts& facts, CycleWork& work, const Ending& ending,
                                     const NodeNames& nodes) {
  const Snapshot& snapshot = facts.snapshot;
  TenantLister lister(ending, nodes, facts.now);
  std::set<std::string_view> known;
  for (GroupWork* group : work.groups) {
    known.insert(group->seen->group->meta.uid);
    lister.add(*group);
  }
  for (const GroupSeen& seen : snapshot.groups) {
    if (known.count(seen.group->meta.uid) == 0 && !seen.group->meta.deleting) {
      lister.add_running(seen);
    }
  }
  for (const RunningGroup& one : snapshot.running) lister.add_running(one);
  for (const kube::PodPtr& pod : snapshot.terminating) lister.add_terminating(*pod);
  return std::move(lister.tenants);
}

}  // namespace nervex::planner
