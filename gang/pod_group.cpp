#include "gang/pod_group.h"

#include <utility>

namespace nervex::gang {
namespace {

Json encode_slot(SlotId slot) {
  return Json{{"ordinal", slot.ordinal}, {"incarnation", slot.incarnation}};
}

Json encode_member(const MemberSet& member) {
  Json slots = Json::array();
  for (const SlotId slot : member.slots) slots.push_back(encode_slot(slot));
  Json out{{"name", member.name},
           {"gang", member.gang},
           {"role", member.role},
           {"slots", std::move(slots)},
           {"requests", kube::encode_resources(member.requests)}};
  if (member.held > 0) out["held"] = member.held;
  const kube::NodeConstraints& constraints = member.constraints;
  if (!constraints.node_selector.empty()) out["nodeSelector"] = constraints.node_selector;
  if (!constraints.node_selector_terms.empty()) {
    out["nodeAffinityTerms"] = constraints.node_selector_terms;
  }
  if (!constraints.tolerations.empty()) out["tolerations"] = constraints.tolerations;
  return out;
}

Json encode_gang(const GangStatus& gang) {
  Json placements = Json::array();
  for (const Placement& placement : gang.placements) {
    Json entry = encode_slot(placement.slot);
    entry["role"] = placement.role;
    entry["node"] = placement.node;
    entry["number"] = placement.number;
    placements.push_back(std::move(entry));
  }
  return Json{{"name", gang.name},
              {"planned", gang.planned},
              {"committed", gang.committed},
              {"reason", gang.reason},
              {"message", gang.message},
              {"since", to_rfc3339_micro(gang.since)},
              {"placements", std::move(placements)}};
}

}  // namespace

Json encode_spec(const PodGroupSpec& spec) {
  Json members = Json::array();
  for (const MemberSet& member : spec.members) members.push_back(encode_member(member));
  Json out{{"attempt", spec.attempt},
           {"priority", spec.priority},
           {"queuedSince", to_rfc3339_micro(spec.queued_since)},
           {"members", std::move(members)}};
  if (spec.schedule_timeout_seconds) out["scheduleTimeoutSeconds"] = *spec.schedule_timeout_seconds;
  return out;
}

Json encode_status(const PodGroupStatus& status) {
  Json gangs = Json::array();
  for (const GangStatus& gang : status.gangs) gangs.push_back(encode_gang(gang));
  return Json{{"observedGeneration", status.observed_generation},
              {"nextPlacement", status.next_placement},
              {"gangs", std::move(gangs)}};
}

const Placement* find_placement(const PodGroupStatus& status, std::string_view role, SlotId slot) {
  for (const GangStatus& gang : status.gangs) {
    for (const Placement& placement : gang.placements) {
      if (placement.role == role && placement.slot == slot) return &placement;
    }
  }
  return nullptr;
}

const GangStatus* find_gang(const PodGroupStatus& status, std::string_view name) {
  for (const GangStatus& gang : status.gangs) {
    if (gang.name == name) return &gang;
  }
  return nullptr;
}

const GangStatus* gang_of(const PodGroupStatus& status, std::string_view role, SlotId slot) {
  for (const GangStatus& gang : status.gangs) {
    for (const Placement& placement : gang.placements) {
      if (placement.role == role && placement.slot == slot) return &gang;
    }
  }
  return nullptr;
}

}  // namespace nervex::gang
