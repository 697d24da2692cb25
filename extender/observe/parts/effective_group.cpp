#include "extender/observe/parts/effective_group.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "planner/gang/enlarged.h"
#include "planner/recovery/refusals.h"
#include "planner/recovery/restored.h"

namespace nervex::extender {
namespace {

const gang::EnlargedSet* find_enlarged(const gang::PodGroup& group, std::string_view set) {
  const auto& known = group.status.enlarged;
  const auto at =
      std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.set == set; });
  return at == known.end() ? nullptr : &*at;
}

// The largest requests of the set's pods.
kube::Resources find_requests(const gang::MemberSet& set, const ExistingPods::BySlot* pods) {
  kube::Resources seen;
  if (pods == nullptr) return seen;
  for (const gang::SlotId slot : set.slots) {
    const auto pod = pods->find({set.role, slot.ordinal});
    if (pod == pods->end()) continue;
    // Other checks are left to the scheduler's own filters.
    seen.raise_to(kube::without_implicit(pod->second.requests));
  }
  return seen;
}

void apply_sizes(EffectiveGroup& out, const ExistingPods::BySlot* pods) {
  const gang::PodGroupPtr& group = out.group;
  const auto sets = gang::all_sets(group->spec.gangs);
  const bool are_plain = std::all_of(sets.begin(), sets.end(),
                                     [](const auto& set) { return set.admitted.answer == 0; });
  if (pods == nullptr && group->status.enlarged.empty() && are_plain) return;
  std::vector<gang::Gang> gangs = group->spec.gangs;
  bool is_any_changed = false;
  for (gang::MemberSet& set : gang::all_sets(gangs)) {
    planner::SetSize size =
        planner::compute_set_size(set, find_enlarged(*group, set.name), find_requests(set, pods));
    is_any_changed = is_any_changed || size.requests != set.shape.requests;
    set.shape.requests = std::move(size.requests);
    if (size.enlarged) out.enlarged.push_back(*std::move(size.enlarged));
  }
  if (!is_any_changed) return;
  auto enlarged = std::make_shared<gang::PodGroup>(*group);
  enlarged->spec.gangs = std::move(gangs);
  out.group = std::move(enlarged);
}

std::vector<std::string> unusable_claims_of(const gang::Gang& gang, const std::string& ns,
                                            const VolumeStores& volumes) {
  std::vector<std::string> unusable;
  for (const gang::MemberSet& set : gang.members) {
    for (auto& one : unusable_claims(set.shape.claims, ns, volumes)) {
      unusable.push_back(std::move(one));
    }
  }
  return unusable;
}

// A gang whose plan was refused for a claim that has changed since is planned again at once.
void end_pauses(EffectiveGroup& out, const VolumeStores& volumes) {
  const gang::PodGroupPtr group = out.group;
  std::shared_ptr<gang::PodGroup> changed;
  for (std::size_t i = 0; i < group->status.gangs.size(); ++i) {
    const gang::GangStatus& gang = group->status.gangs[i];
    if (gang.refusals.waits_for.empty()) continue;
    const gang::Gang* wanted = gang::find_gang(group->spec, gang.name);
    if (wanted == nullptr) continue;
    const auto unusable = unusable_claims_of(*wanted, group->meta.ns.str(), volumes);
    if (!planner::is_cause_over(gang, unusable)) continue;
    if (!changed) changed = std::make_shared<gang::PodGroup>(*group);
    changed->status.gangs[i].refusals.plan_after = {};
  }
  if (changed) out.group = std::move(changed);
}

void list_unusable_claims(EffectiveGroup& out, const VolumeStores& volumes) {
  const gang::PodGroup& group = *out.group;
  for (const gang::Gang& wanted : group.spec.gangs) {
    const gang::GangStatus* gang = gang::find_gang(group.status, wanted.name);
    if (gang != nullptr && gang->committed) continue;
    for (auto& one : unusable_claims_of(wanted, group.meta.ns.str(), volumes)) {
      out.unusable_claims.push_back(std::move(one));
    }
  }
}

void restore_placements(EffectiveGroup& out, const ExistingPods::BySlot* existing,
                        const SlotPods& pods) {
  const gang::PodGroupPtr& group = out.group;
  const gang::PodGroupStatus& status = group->status;
  std::int64_t& highest = out.highest_placement;
  highest = std::max({highest, status.next_placement - 1, group->spec.highest_placement});
  std::vector<planner::BoundSlot> bound;
  if (existing != nullptr && !planner::has_all_placements(*group)) {
    bound = pods.bound(group->meta.uid, group->meta.ns.str());
    for (const auto& [slot, one] : *existing) {
      if (!one.placements.empty()) highest = std::max(highest, *one.placements.rbegin());
    }
  }
  auto restored = planner::restored_status(*group, bound, highest);
  if (!restored) return;
  out.is_restored = restored->gangs != status.gangs;
  auto changed = std::make_shared<gang::PodGroup>(*group);
  changed->status = *std::move(restored);
  out.group = std::move(changed);
}

}  // namespace

EffectiveGroup make_effective(const gang::PodGroupPtr& stored, std::int64_t highest_placement,
                              const ExistingPods& existing, const SlotPods& pods,
                              const VolumeStores& volumes) {
  EffectiveGroup out;
  out.highest_placement = highest_placement;
  out.group = with_volumes(stored, volumes, out.volumes);
  const ExistingPods::BySlot* own = existing.find(stored->meta);
  apply_sizes(out, own);
  end_pauses(out, volumes);
  list_unusable_claims(out, volumes);
  restore_placements(out, own, pods);
  return out;
}

}  // namespace nervex::extender
