#include "controller/wanted.h"

#include "controller/attempt.h"
#include "controller/desired_pod_group.h"

namespace nervex::controller {
namespace {

void add_pods_of(const gang::MemberSet& set, const job::RequestEntry* entry, const job::Job& job,
                 const Places& places, Wanted& wanted) {
  const auto role = job::parse_role(set.role);
  if (!role) return;
  for (const auto id : set.slots) {
    const auto place = places.find({set.role, id});
    if (place == places.end()) {
      if (entry == nullptr) wanted.base_is_placed = false;
      continue;
    }
    const job::Slot slot = job_slot(id);
    wanted.pods.push_back({job::pod_name(job, *role, slot), *role, slot, entry, place->second});
  }
}

}  // namespace

Places places_of(const gang::PodGroupStatus& status) {
  Places places;
  for (const auto& of : status.gangs) {
    if (!of.planned) continue;
    for (const auto& place : of.placements) places[{place.role, place.slot}] = &place;
  }
  return places;
}

Wanted wanted_pods(const job::Job& job, const gang::PodGroup& group, const Places& places) {
  Wanted wanted;
  const auto entries = entries_by_set(job);
  for (const auto& set : group.spec.members) {
    const auto entry = entries.find(set.name);
    if (set.gang == gang::kBaseGang) {
      add_pods_of(set, nullptr, job, places, wanted);
    } else if (entry != entries.end()) {
      add_pods_of(set, entry->second, job, places, wanted);
    }
  }
  return wanted;
}

}  // namespace nervex::controller
