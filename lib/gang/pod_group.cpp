#include "gang/pod_group.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "kube/model/anti_affinity.h"

namespace nervex::gang {

namespace {

// Omits zero and one, which absent fields default to: 5,000 slots add up.
Json encode_run(SlotId first, std::int64_t count) {
  Json run{{"ordinal", first.ordinal}};
  if (count != 1) run["count"] = count;
  if (first.incarnation != 0) run["incarnation"] = first.incarnation;
  return run;
}

// Calls `add(first, count)` for each longest run of neighbours that `follows`.
template <typename T, typename Follows, typename Add>
void for_each_run(const std::vector<T>& items, const Follows& follows, const Add& add) {
  for (auto first = items.begin(); first != items.end();) {
    auto end = first + 1;
    while (end != items.end() && follows(*(end - 1), *end)) ++end;
    add(*first, end - first);
    first = end;
  }
}

Json encode_slots(const std::vector<SlotId>& slots) {
  Json out = Json::array();
  const auto follows = [](SlotId a, SlotId b) {
    return b.incarnation == a.incarnation && b.ordinal == a.ordinal + 1;
  };
  for_each_run(slots, follows, [&out](SlotId first, std::int64_t count) {
    out.push_back(encode_run(first, count));
  });
  return out;
}

// By role, then by node. Neighbouring slots on one node form one entry.
Json encode_placements(const std::vector<Placement>& placements) {
  std::vector<const Placement*> sorted;
  sorted.reserve(placements.size());
  for (const Placement& placement : placements) sorted.push_back(&placement);
  std::sort(sorted.begin(), sorted.end(), [](const Placement* a, const Placement* b) {
    return std::tie(a->role, a->node, a->slot) < std::tie(b->role, b->node, b->slot);
  });
  const auto follows = [](const Placement* a, const Placement* b) {
    return a->role == b->role && a->node == b->node && a->slot.incarnation == b->slot.incarnation &&
           b->slot.ordinal == a->slot.ordinal + 1 && b->number == a->number + 1;
  };
  Json out = Json::array();
  for_each_run(sorted, follows, [&out](const Placement* first, std::int64_t count) {
    if (out.empty() || out.back()["role"] != first->role) {
      out.push_back({{"role", first->role}, {"nodes", Json::array()}});
    }
    Json run = encode_run(first->slot, count);
    run["node"] = first->node;
    run["number"] = first->number;
    out.back()["nodes"].push_back(std::move(run));
  });
  return out;
}

// Implicit resources of one kind, without the kind's name: ["TCP/8080"].
void add_implicit(const kube::Resources& requests, std::string_view kind, const char* field,
                  Json& out) {
  for (const auto& [name, amount] : requests.amounts()) {
    if (name.starts_with(kind)) out[field].push_back(name.substr(kind.size()));
  }
}

// By set, then by node, like placements.
Json encode_reserved(std::vector<ReservedCapacity> reserved) {
  std::sort(reserved.begin(), reserved.end(),
            [](const ReservedCapacity& a, const ReservedCapacity& b) {
              return std::tie(a.set, a.node) < std::tie(b.set, b.node);
            });
  Json out = Json::array();
  for (const ReservedCapacity& entry : reserved) {
    if (out.empty() || out.back()["set"] != entry.set) {
      out.push_back({{"set", entry.set}, {"nodes", Json::array()}});
    }
    Json node{{"node", entry.node}};
    if (entry.count != 1) node["count"] = entry.count;
    out.back()["nodes"].push_back(std::move(node));
  }
  return out;
}

Json encode_member(const MemberSet& member) {
  Json out{{"name", member.name},
           {"role", member.role},
           {"slots", encode_slots(member.slots)},
           {"requests", kube::encode_resources(member.shape.requests)}};
  if (member.part > 0) out["part"] = member.part;
  if (member.bind_last) out["bindLast"] = true;
  if (member.heals_alone) out["healsAlone"] = true;
  if (member.reserved_pods > 0) out["reserved"] = member.reserved_pods;
  if (!member.growing.empty()) out["growing"] = member.growing.items();
  add_implicit(member.shape.requests, kube::kHostPort, "hostPorts", out);
  add_implicit(member.shape.requests, kube::kPodAntiAffinity, "podAntiAffinity", out);
  if (!member.shape.claims.empty()) out["claims"] = member.shape.claims.items();
  if (!member.resource_claims.empty()) out["resourceClaims"] = member.resource_claims.items();
  if (!member.shape.together.empty()) out["podAffinity"] = member.shape.together.items();
  add_implicit(member.shape.requests, kube::kMatchingPods, "matchingPods", out);
  for (const kube::TopologySpread& spread : member.shape.spread) {
    Json constraint = kube::encode_topology_spread(spread);
    constraint["namespace"] = spread.pods.ns;
    out["topologySpread"].push_back(std::move(constraint));
  }
  for (const TopologyTerm& term : member.shape.topology) {
    out["topology"].push_back({{"level", term.key},
                               {"group", term.group},
                               {"policy", term.is_required ? kRequired : kPreferred}});
  }
  if (!member.shape.node_classes.empty()) out["nodeClasses"] = member.shape.node_classes.items();
  if (member.from_reserved.count > 0) {
    out["fromReserved"] = {{"set", member.from_reserved.set},
                           {"count", member.from_reserved.count}};
  }
  if (member.admitted.answer > 0) {
    out["admitted"] = {{"answer", member.admitted.answer},
                       {"requests", kube::encode_resources(member.admitted.requests)}};
  }
  const kube::NodeConstraints constraints = member.shape.constraints.unpack();
  if (!constraints.node_selector.empty()) out["nodeSelector"] = constraints.node_selector;
  if (!constraints.node_selector_terms.empty()) {
    out["nodeAffinityTerms"] = constraints.node_selector_terms;
  }
  if (!constraints.tolerations.empty()) out["tolerations"] = constraints.tolerations;
  if (!constraints.preferred_terms.empty()) {
    out["preferredNodeAffinityTerms"] = constraints.preferred_terms;
  }
  return out;
}

// By StartCheck::State; the first one is left out.
constexpr std::array<std::string_view, 4> kStartChecks = {"", "Pending", "Passed", "Blocked"};

Json encode_start_check(const StartCheck& check) {
  Json out{{"state", kStartChecks[static_cast<std::size_t>(check.state)]}};
  if (check.state != StartCheck::State::kBlocked) return out;
  out["kind"] = check.blocker.kind;
  if (!check.blocker.name.empty()) out["name"] = check.blocker.name;
  out["message"] = check.blocker.message;
  return out;
}

Json encode_gang(const Gang& gang) {
  Json members = Json::array();
  for (const MemberSet& member : gang.members) members.push_back(encode_member(member));
  Json out{{"name", gang.name}, {"kind", to_string(gang.kind)}, {"members", std::move(members)}};
  if (gang.kind == GangKind::kRequest) out["requestId"] = gang.request_id;
  if (gang.kind == GangKind::kAddedReplicas) out["firstOrdinal"] = gang.first_ordinal;
  if (gang.queued_since) out["queuedSince"] = to_rfc3339_micro(*gang.queued_since);
  if (gang.preempt_after) out["preemptAfter"] = to_rfc3339_micro(*gang.preempt_after);
  if (gang.start_check.state != StartCheck::State::kNone) {
    out["startCheck"] = encode_start_check(gang.start_check);
  }
  return out;
}

Json encode_queue_place(const QueuePlace& place) {
  Json out = Json::object();
  if (!place.name.empty()) out["name"] = place.name;
  if (place.position > 0) out["position"] = place.position;
  if (place.max_runtime_seconds) out["maxRuntimeSeconds"] = *place.max_runtime_seconds;
  if (!place.parents.empty()) out["parents"] = place.parents.items();
  return out;
}

Json encode_avoided(const AvoidedNode& avoided) {
  return Json{{"set", avoided.set},
              {"node", avoided.node},
              {"atMost", avoided.at_most},
              {"times", avoided.times},
              {"until", to_rfc3339_micro(avoided.until)}};
}

Json encode_victim(const Victim& victim) {
  Json out{{"podGroupUID", victim.pod_group_uid},
           {"gang", victim.gang},
           {"placedThrough", victim.through},
           {"reason", victim.is_for_reservation ? kForReservation
                      : victim.is_reclaimed     ? kReclaim
                                                : kLowerPriority}};
  if (!victim.pod_group.empty()) out["podGroup"] = victim.pod_group;
  return out;
}

Json encode_reservation(const Reservation& reservation) {
  Json out{{"nodes", encode_reserved(reservation.nodes)},
           {"since", to_rfc3339_micro(reservation.since)}};
  if (reservation.due) out["due"] = to_rfc3339_micro(*reservation.due);
  if (!reservation.counts_on.empty()) out["countsOn"] = reservation.counts_on;
  if (reservation.renew_after) out["renewAfter"] = to_rfc3339_micro(*reservation.renew_after);
  return out;
}

Json encode_gang(const GangStatus& gang) {
  Json out{{"name", gang.name},
           {"planned", gang.planned},
           {"committed", gang.committed},
           {"reason", gang.reason},
           {"message", gang.message},
           {"since", to_rfc3339_micro(gang.since)},
           {"placements", encode_placements(gang.placements)}};
  if (gang.cause) {
    out["cause"] = encode_no_fit(*gang.cause);
    out["remedy"] = {{"code", code(choose_remedy(*gang.cause))}};
  }
  if (gang.refusals.count > 0) {
    out["refusals"] = {{"count", gang.refusals.count},
                       {"planAfter", to_rfc3339_micro(gang.refusals.plan_after)},
                       {"message", gang.refusals.message}};
    if (!gang.refusals.waits_for.empty()) out["refusals"]["waitsFor"] = gang.refusals.waits_for;
    if (!gang.refusals.cause.empty()) out["refusals"]["cause"] = gang.refusals.cause;
  }
  if (gang.healing_since) {
    out["healingSince"] = to_rfc3339_micro(*gang.healing_since);
    out["healingCause"] = {{"code", to_string(gang.healing_cause.code)},
                           {"message", gang.healing_cause.message}};
  }
  if (!gang.reserved.empty()) out["reserved"] = encode_reserved(gang.reserved);
  if (gang.direct_through > 0) out["directThrough"] = gang.direct_through;
  if (gang.started_at) out["startedAt"] = to_rfc3339_micro(*gang.started_at);
  for (const Victim& victim : gang.victims) out["victims"].push_back(encode_victim(victim));
  if (gang.reservation) out["reservation"] = encode_reservation(*gang.reservation);
  if (gang.reserve_after) out["reserveAfter"] = to_rfc3339_micro(*gang.reserve_after);
  if (gang.planned_run_seconds) out["plannedRunSeconds"] = *gang.planned_run_seconds;
  return out;
}

}  // namespace

std::string_view to_string(GangKind kind) {
  switch (kind) {
    case GangKind::kBase:
      return "Base";
    case GangKind::kAddedReplicas:
      return "AddedReplicas";
    case GangKind::kRequest:
      return "Request";
  }
  return "";
}

std::string_view to_string(HealingCause::Code code) {
  switch (code) {
    case HealingCause::Code::kPodLost:
      return "PodLost";
    case HealingCause::Code::kPodTerminating:
      return "PodTerminating";
    case HealingCause::Code::kPodNotStarted:
      return "PodNotStarted";
    case HealingCause::Code::kPodMissing:
      return "PodMissing";
    case HealingCause::Code::kPodNotBound:
      return "PodNotBound";
  }
  return "";
}

Json encode_spec(const PodGroupSpec& spec) {
  Json gangs = Json::array();
  for (const Gang& gang : spec.gangs) gangs.push_back(encode_gang(gang));
  Json out{{"attempt", spec.attempt},
           {"priority", spec.priority},
           {"queuedSince", to_rfc3339_micro(spec.queued_since)},
           {"gangs", std::move(gangs)}};
  if (!spec.queue.empty()) out["queue"] = spec.queue;
  if (!spec.user.empty()) out["user"] = spec.user;
  if (spec.schedule_timeout_seconds) out["scheduleTimeoutSeconds"] = *spec.schedule_timeout_seconds;
  if (spec.never_preempts) out["preemptionPolicy"] = kNever;
  if (spec.preemptible) out["preemptible"] = true;
  if (spec.active_deadline_seconds) out["activeDeadlineSeconds"] = *spec.active_deadline_seconds;
  if (spec.active_seconds > 0) out["activeSeconds"] = spec.active_seconds;
  if (spec.grace_seconds) out["graceSeconds"] = *spec.grace_seconds;
  if (spec.direct_placement) out["placement"] = kDirect;
  if (spec.highest_placement > 0) out["highestPlacement"] = spec.highest_placement;
  for (const AvoidedNode& avoided : spec.avoid) out["avoid"].push_back(encode_avoided(avoided));
  return out;
}

Json encode_status(const PodGroupStatus& status) {
  Json gangs = Json::array();
  for (const GangStatus& gang : status.gangs) gangs.push_back(encode_gang(gang));
  Json out{{"observedGeneration", status.observed_generation},
           {"nextPlacement", status.next_placement},
           {"gangs", std::move(gangs)}};
  if (Json place = encode_queue_place(status.queue); !place.empty()) {
    out["queue"] = std::move(place);
  }
  for (const AvoidedNode& avoided : status.avoid) out["avoid"].push_back(encode_avoided(avoided));
  Json enlarged = Json::array();
  for (const EnlargedSet& set : status.enlarged) {
    enlarged.push_back({{"name", set.set},
                        {"requests", kube::encode_resources(set.requests)},
                        {"times", set.times},
                        {"until", to_rfc3339_micro(set.until)}});
    if (set.answer > 0) enlarged.back()["answer"] = set.answer;
  }
  if (!enlarged.empty()) out["enlarged"] = std::move(enlarged);
  return out;
}

Result<PodGroup> decode_pod_group(const Json& object) {
  if (!object.is_object()) return Error{Code::kInvalid, "podgroup: not an object"};
  PodGroup group;
  group.meta = kube::decode_meta(object);
  if (group.meta.name.empty()) return Error{Code::kInvalid, "podgroup: metadata.name: is required"};
  const std::string context = "podgroup " + group.meta.key();
  static const Json kEmpty = Json::object();
  const Json* spec_json = kube::find(object, {"spec"});
  const Json* status_json = kube::find(object, {"status"});
  auto spec = decode_spec(spec_json != nullptr ? *spec_json : kEmpty);
  if (!spec) return with_context(context, spec.error());
  auto status = decode_status(status_json != nullptr ? *status_json : kEmpty);
  if (!status) return with_context(context, status.error());
  group.spec = *std::move(spec);
  group.status = *std::move(status);
  return group;
}

Result<PodGroup> parse_pod_group(std::string_view json) {
  const auto object = kube::parse_json(json);
  return object ? decode_pod_group(*object) : object.error();
}

const Gang* find_gang(const PodGroupSpec& spec, std::string_view name) {
  for (const Gang& gang : spec.gangs) {
    if (gang.name == name) return &gang;
  }
  return nullptr;
}

const MemberSet* find_set(const PodGroupSpec& spec, std::string_view name) {
  for (const MemberSet& set : all_sets(spec.gangs)) {
    if (set.name == name) return &set;
  }
  return nullptr;
}

bool is_growing(const MemberSet& set, SlotId slot) {
  return std::binary_search(set.growing.begin(), set.growing.end(), slot.ordinal);
}

bool may_wait(const MemberSet& set, SlotId slot, bool is_committed) {
  return is_committed && is_growing(set, slot);
}

bool may_any_wait(const MemberSet& set) { return !set.growing.empty(); }

bool is_of_quorum(const MemberSet& set, SlotId) { return !set.heals_alone; }

bool wants(const MemberSet& set, std::string_view role, SlotId slot) {
  return set.role == role && std::find(set.slots.begin(), set.slots.end(), slot) != set.slots.end();
}

const Placement* find_placement(const PodGroupStatus& status, std::string_view role, SlotId slot) {
  for (const GangStatus& gang : status.gangs) {
    for (const Placement& placement : gang.placements) {
      if (placement.role == role && placement.slot == slot) return &placement;
    }
  }
  return nullptr;
}

std::string_view waiting_reason(const NoFit& no_fit) {
  return is_about_nodes(no_fit) ? kReasonUnschedulable : code(no_fit);
}

const GangStatus* find_gang(const PodGroupStatus& status, std::string_view name) {
  for (const GangStatus& gang : status.gangs) {
    if (gang.name == name) return &gang;
  }
  return nullptr;
}

int reserved_for(const GangStatus& gang, std::string_view set) {
  int count = 0;
  for (const ReservedCapacity& entry : gang.reserved) count += entry.set == set ? entry.count : 0;
  return count;
}

const GangStatus* find_gang_with_slot(const PodGroupStatus& status, std::string_view role,
                                      SlotId slot) {
  for (const GangStatus& gang : status.gangs) {
    for (const Placement& placement : gang.placements) {
      if (placement.role == role && placement.slot == slot) return &gang;
    }
  }
  return nullptr;
}

}  // namespace nervex::gang
