#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "gang/decode_fields.h"
#include "kube/model/anti_affinity.h"

namespace nervex::gang {
namespace {

// A slot wanted by two sets, or twice by one, would get two placements.
using Taken = std::set<std::pair<std::string, int>>;

Result<std::vector<SlotId>> decode_slots(const Json& from, const std::string& role,
                                         const std::string& where, Taken& taken) {
  std::vector<SlotId> slots;
  int entries = 0;
  for (const Json& entry : kube::array_at(from, {"slots"})) {
    const std::string here = fmt::format("{}.slots[{}]", where, entries++);
    const auto run = decode_slot_run(entry, here);
    if (!run) return run.error();
    if (taken.size() + static_cast<std::size_t>(run->count) > kMostSlots) {
      return invalid_field(here, fmt::format("a PodGroup has at most {} slots", kMostSlots));
    }
    for (int i = 0; i < run->count; ++i) {
      const int ordinal = run->first.ordinal + i;
      if (!taken.emplace(role, ordinal).second) {
        return invalid_field(here, fmt::format("{}/{} is wanted twice", role, ordinal));
      }
      slots.push_back({ordinal, run->first.incarnation});
    }
  }
  return slots;
}

Result<Nothing> decode_from_reserved(const Json& from, const std::string& where,
                                     FromReserved& value) {
  const Json* found = kube::find(from, {"fromReserved"});
  if (found == nullptr) return ok();
  const std::string here = where + ".fromReserved";
  if (!found->is_object()) return invalid_field(here, "must be an object");
  auto set = required_text(*found, "set", here);
  if (!set) return set.error();
  value.set = *std::move(set);
  return read_slot_count(*found, "count", here, value.count);
}

kube::NodeConstraints decode_constraints(const Json& from) {
  kube::NodeConstraints constraints;
  const Json* selector = kube::find(from, {"nodeSelector"});
  if (selector != nullptr && selector->is_object()) constraints.node_selector = *selector;
  constraints.node_selector_terms = kube::array_at(from, {"nodeAffinityTerms"});
  constraints.tolerations = kube::array_at(from, {"tolerations"});
  constraints.preferred_terms = kube::array_at(from, {"preferredNodeAffinityTerms"});
  return constraints;
}

Result<MemberSet> decode_member(const Json& from, const std::string& where, Taken& taken) {
  MemberSet member;
  auto name = required_text(from, "name", where);
  if (!name) return name.error();
  auto role = required_text(from, "role", where);
  if (!role) return role.error();
  auto slots = decode_slots(from, *role, where, taken);
  if (!slots) return slots.error();
  if (auto read = read_slot_count(from, "reserved", where, member.reserved_pods); !read)
    return read.error();
  if (auto read = decode_from_reserved(from, where, member.from_reserved); !read)
    return read.error();
  if (const Json* requests = kube::find(from, {"requests"}); requests != nullptr) {
    auto amounts = kube::decode_resources(*requests);
    if (!amounts) return with_context(where + ".requests", amounts.error());
    member.shape.requests = *std::move(amounts);
  }
  if (const Json* admitted = kube::find(from, {"admitted"}); admitted != nullptr) {
    const std::string here = where + ".admitted";
    auto read = read_int(*admitted, "answer", here, 0, member.admitted.answer);
    if (!read) return read.error();
    const Json* size = kube::find(*admitted, {"requests"});
    auto amounts = kube::decode_resources(size != nullptr ? *size : Json::object());
    if (!amounts) return with_context(here + ".requests", amounts.error());
    member.admitted.requests = *std::move(amounts);
  }
  for (const auto& [field, kind] : {std::pair("hostPorts", kube::kHostPort),
                                    {"podAntiAffinity", kube::kPodAntiAffinity},
                                    {"matchingPods", kube::kMatchingPods}}) {
    for (const Json& text : kube::array_at(from, {field})) {
      if (!text.is_string())
        return invalid_field(fmt::format("{}.{}", where, field), "must be strings");
      member.shape.requests.set(std::string(kind) + text.get<std::string>(), 1);
    }
  }
  for (const Json& claim : kube::array_at(from, {"claims"})) {
    if (!claim.is_string()) return invalid_field(where + ".claims", "must be strings");
    member.shape.claims.push_back(claim.get<std::string>());
  }
  for (const Json& claim : kube::array_at(from, {"resourceClaims"})) {
    if (!claim.is_string()) return invalid_field(where + ".resourceClaims", "must be strings");
    member.resource_claims.push_back(claim.get<std::string>());
  }
  for (const Json& term : kube::array_at(from, {"podAffinity"})) {
    if (!term.is_string()) return invalid_field(where + ".podAffinity", "must be strings");
    if (member.shape.together.size() == kMaxAffinityTerms) break;
    member.shape.together.push_back(term.get<std::string>());
  }
  for (const Json& constraint : kube::array_at(from, {"topologySpread"})) {
    auto spread =
        kube::decode_topology_spread(constraint, kube::string_at(constraint, {"namespace"}), {});
    if (!spread) return invalid_field(where + ".topologySpread", "must be constraints");
    member.shape.spread.push_back(*std::move(spread));
  }
  for (const Json& term : kube::array_at(from, {"topology"})) {
    const std::string policy = kube::string_at(term, {"policy"}, kRequired);
    TopologyTerm read{kube::string_at(term, {"level"}), kube::string_at(term, {"group"}),
                      policy == kRequired};
    const bool is_known = policy == kRequired || policy == kPreferred;
    if (read.key.empty() || read.group.empty() || !is_known) {
      return invalid_field(where + ".topology", "must have level, group and a known policy each");
    }
    member.shape.topology.push_back(std::move(read));
  }
  if (member.shape.topology.size() > kMaxTopologyTerms) {
    return invalid_field(where + ".topology", fmt::format("must be at most {}", kMaxTopologyTerms));
  }
  for (const Json& node_class : kube::array_at(from, {"nodeClasses"})) {
    if (!node_class.is_string()) return invalid_field(where + ".nodeClasses", "must be strings");
    member.shape.node_classes.push_back(node_class.get<std::string>());
  }
  if (member.shape.node_classes.size() > kMaxNodeClasses) {
    return invalid_field(where + ".nodeClasses",
                         fmt::format("must be at most {}", kMaxNodeClasses));
  }
  member.name = *std::move(name);
  member.role = *std::move(role);
  member.slots = *std::move(slots);
  member.bind_last = kube::bool_at(from, {"bindLast"});
  member.heals_alone = kube::bool_at(from, {"healsAlone"});
  member.shape.constraints = decode_constraints(from);
  if (auto read = read_int(from, "part", where, 0, member.part); !read) return read.error();
  for (const Json& one : kube::array_at(from, {"growing"})) {
    if (one.is_number_integer()) member.growing.push_back(one.get<int>());
  }
  if (!member.growing.empty()) {
    auto& growing = member.growing.edit();
    std::sort(growing.begin(), growing.end());
  }
  return member;
}

std::optional<GangKind> parse_kind(std::string_view text) {
  for (const GangKind kind : {GangKind::kBase, GangKind::kAddedReplicas, GangKind::kRequest}) {
    if (text == to_string(kind)) return kind;
  }
  return std::nullopt;
}

// An unknown state counts as no check.
StartCheck decode_start_check(const Json& from) {
  using State = StartCheck::State;
  const std::string text = kube::string_at(from, {"startCheck", "state"});
  StartCheck check;
  if (text == "Pending") check.state = State::kPending;
  if (text == "Passed") check.state = State::kPassed;
  if (text != "Blocked") return check;
  check.state = State::kBlocked;
  check.blocker = {kube::string_at(from, {"startCheck", "kind"}),
                   kube::string_at(from, {"startCheck", "name"}),
                   kube::string_at(from, {"startCheck", "message"})};
  return check;
}

Result<Gang> decode_gang(const Json& from, const std::string& where, Taken& taken) {
  Gang gang;
  auto name = required_text(from, "name", where);
  if (!name) return name.error();
  gang.name = *std::move(name);
  const auto kind = parse_kind(kube::string_at(from, {"kind"}));
  if (!kind) return invalid_field(where + ".kind", "must be Base, AddedReplicas or Request");
  gang.kind = *kind;
  if ((gang.kind == GangKind::kBase) != (gang.name == kBaseGang)) {
    return invalid_field(where + ".name",
                         "must be \"base\" in the gang of kind Base, and in no other");
  }
  if (auto read = read_int64(from, "requestId", where, gang.request_id); !read) return read.error();
  if (auto read = read_int(from, "firstOrdinal", where, 0, gang.first_ordinal); !read) {
    return read.error();
  }
  if (kube::find(from, {"queuedSince"}) != nullptr) {
    auto queued = read_time(from, "queuedSince", where);
    if (!queued) return queued.error();
    gang.queued_since = *queued;
  }
  if (kube::find(from, {"preemptAfter"}) != nullptr) {
    auto after = read_time(from, "preemptAfter", where);
    if (!after) return after.error();
    gang.preempt_after = *after;
  }
  gang.start_check = decode_start_check(from);
  for (const Json& entry : kube::array_at(from, {"members"})) {
    auto member =
        decode_member(entry, fmt::format("{}.members[{}]", where, gang.members.size()), taken);
    if (!member) return member.error();
    if (gang.kind != GangKind::kBase) member->reserved_pods = 0;
    gang.members.push_back(*std::move(member));
  }
  if (gang.members.empty()) return invalid_field(where + ".members", "must not be empty");
  return gang;
}

}  // namespace

Result<PodGroupSpec> decode_spec(const Json& from) {
  PodGroupSpec spec;
  if (auto read = read_int(from, "attempt", "spec", 0, spec.attempt); !read) return read.error();
  if (auto read =
          read_int(from, "priority", "spec", std::numeric_limits<int>::min(), spec.priority);
      !read) {
    return read.error();
  }
  auto queued = read_time(from, "queuedSince", "spec");
  if (!queued) return queued.error();
  spec.queued_since = *queued;
  spec.queue = kube::string_at(from, {"queue"});
  spec.user = kube::string_at(from, {"user"});
  using Seconds = std::pair<const char*, std::optional<std::int64_t>*>;
  for (const auto& [field, value] :
       {Seconds{"scheduleTimeoutSeconds", &spec.schedule_timeout_seconds},
        Seconds{"activeDeadlineSeconds", &spec.active_deadline_seconds},
        Seconds{"graceSeconds", &spec.grace_seconds}}) {
    if (kube::find(from, {field}) == nullptr) continue;
    auto read = read_int64(from, field, "spec", value->emplace(0));
    if (!read) return read.error();
  }
  spec.never_preempts = kube::string_at(from, {"preemptionPolicy"}) == kNever;
  spec.preemptible = kube::bool_at(from, {"preemptible"});
  spec.direct_placement = kube::string_at(from, {"placement"}) == kDirect;
  if (auto read = read_int64(from, "activeSeconds", "spec", spec.active_seconds); !read) {
    return read.error();
  }
  if (auto read = read_int64(from, "highestPlacement", "spec", spec.highest_placement); !read) {
    return read.error();
  }
  if (auto read = read_avoided(from, "spec", spec.avoid); !read) return read.error();
  Taken taken;
  std::set<std::string, std::less<>> names;
  std::size_t index = 0;
  for (const Json& entry : kube::array_at(from, {"gangs"})) {
    const std::string where = fmt::format("spec.gangs[{}]", index++);
    // A copy that a user made. An error would keep all programs from repairing the PodGroup.
    if (names.count(kube::string_at(entry, {"name"})) > 0) continue;
    auto gang = decode_gang(entry, where, taken);
    if (!gang) return gang.error();
    names.insert(gang->name);
    spec.gangs.push_back(*std::move(gang));
  }
  return spec;
}

}  // namespace nervex::gang
