#include "controller/pods.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "controller/reasons.h"
#include "controller/wanted.h"

namespace nervex::controller {
namespace {

using job::Role;

// A pod that waits for a place which is not its any more. Bound pods keep what they have.
bool is_superseded(const AttemptPod& of, const Places& places) {
  if (!of.pod->node.empty() || of.pod->is_finished()) return false;
  const auto place = places.find({to_string(of.role), slot_id(of.slot)});
  return place == places.end() || place->second->number != of.placement;
}

std::vector<Target> pods_in_the_way(const Attempt& attempt, const Places& places) {
  std::vector<Target> targets;
  for (const auto& of : attempt.pods) {
    if (of.pod->meta.deleting || !is_superseded(of, places)) continue;
    targets.push_back({of.pod->meta.name, of.pod->meta.uid});
  }
  return targets;
}

using Slots = std::set<std::pair<Role, job::Slot>>;

Slots slots_of(const std::vector<job::Status::Ended>& ended) {
  Slots slots;
  for (const auto& of : ended) slots.emplace(of.role, of.slot);
  return slots;
}

// What lies between the wanted pods and those that are there.
struct Gap {
  std::vector<const WantedPod*> present;
  std::vector<const WantedPod*> workers;   // to be made, the aggregator too
  const WantedPod* coordinator = nullptr;  // to be made after all the others
};

// The names that are taken, and of which pods of this attempt that stay.
struct Names {
  std::set<std::string_view> held;
  std::map<std::string_view, const AttemptPod*> good;
};

Names names_of(const Observed& seen, const Attempt& attempt, const std::vector<Target>& deletions) {
  Names names;
  for (const auto& pod : seen.pods) names.held.insert(pod->meta.name);
  for (const auto& of : attempt.pods) {
    if (!of.pod->meta.deleting) names.good[of.pod->meta.name] = &of;
  }
  for (const auto& target : deletions) names.good.erase(target.name);
  return names;
}

Gap gap_of(const Wanted& wanted, const Names& names, const Slots& ended, bool config_exists) {
  const auto can_be_made = [&](const WantedPod& want) {
    return want.role != Role::kAggregator || config_exists;
  };
  Gap gap;
  bool coordinator_may_start = wanted.base_is_placed;
  for (const auto& want : wanted.pods) {
    const bool is_held = names.held.count(want.name) != 0;
    const auto good = names.good.find(want.name);
    if (good != names.good.end() && good->second->slot == want.slot) {
      gap.present.push_back(&want);
    } else if (want.role == Role::kCoordinator) {
      if (!is_held) gap.coordinator = &want;
    } else if (is_held || !can_be_made(want)) {  // held by a pod that has to go first
      if (want.entry == nullptr) coordinator_may_start = false;
    } else if (ended.count({want.role, want.slot}) == 0) {
      gap.workers.push_back(&want);
    }
  }
  if (!coordinator_may_start) gap.coordinator = nullptr;
  return gap;
}

Json manifest_of(const Observed& seen, const Attempt& attempt, const WantedPod& want,
                 const job::PodContext& context) {
  job::PodOrder order;
  order.role = want.role;
  order.slot = want.slot;
  order.node = want.place->node;
  order.entry = want.entry;
  order.annotations = gang::annotations_for(
      {attempt.group->meta.uid, want.place->role, want.place->slot, want.place->number});
  return job::pod_manifest(seen.job, order, context);
}

// Every pod has a service, from just before it is made; one that was deleted comes back.
CreateServices missing_services(const Observed& seen, const Gap& gap,
                                const job::PodContext& context) {
  std::set<std::string_view> held;
  for (const auto& service : seen.services) held.insert(service->meta.name);
  CreateServices missing;
  const auto add = [&](const WantedPod* want) {
    if (want == nullptr || held.count(want->name) != 0) return;
    missing.manifests.push_back(job::service_manifest(seen.job, want->role, want->slot, context));
  };
  for (const auto* want : gap.present) add(want);
  for (const auto* want : gap.workers) add(want);
  add(gap.coordinator);
  return missing;
}

std::string created_text(const Gap& gap) {
  const std::size_t count = gap.workers.size() + (gap.coordinator != nullptr ? 1 : 0);
  if (count > 1) return fmt::format("created {} pods", count);
  return "created pod " + (gap.coordinator ? gap.coordinator : gap.workers.front())->name;
}

void add_creations(const Observed& seen, const Attempt& attempt, const Gap& gap, Actions& steps) {
  const job::PodContext context = pod_context(seen, attempt);
  CreateServices services = missing_services(seen, gap, context);
  if (!services.manifests.empty()) steps.push_back(std::move(services));
  CreatePods workers;
  for (const auto* want : gap.workers) {
    workers.manifests.push_back(manifest_of(seen, attempt, *want, context));
  }
  if (!workers.manifests.empty()) steps.push_back(std::move(workers));
  if (gap.coordinator != nullptr) {
    steps.push_back(CreatePods{{manifest_of(seen, attempt, *gap.coordinator, context)}});
  }
  if (!gap.workers.empty() || gap.coordinator != nullptr) {
    steps.push_back(normal_event(kSuccessfulCreate, created_text(gap)));
  }
}

}  // namespace

bool is_plan_current(const gang::PodGroup& group) {
  return group.status.observed_generation == group.meta.generation;
}

Actions pod_steps(const Observed& seen, const Attempt& attempt,
                  const std::vector<job::Status::Ended>& ended) {
  Actions steps;
  if (attempt.group == nullptr || !is_plan_current(*attempt.group)) return steps;
  const Places places = places_of(attempt.group->status);
  const std::vector<Target> deletions = pods_in_the_way(attempt, places);
  const Names names = names_of(seen, attempt, deletions);
  if (!deletions.empty()) steps.push_back(DeletePods{deletions});
  const Wanted wanted = wanted_pods(seen.job, *attempt.group, places);
  add_creations(seen, attempt,
                gap_of(wanted, names, slots_of(ended), seen.aggregator_config != nullptr), steps);
  return steps;
}

}  // namespace nervex::controller
