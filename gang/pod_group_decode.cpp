#include "gang/pod_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "kube/model/anti_affinity.h"

namespace nervex::gang {
namespace {

Error wrong(const std::string& where, std::string_view what) {
  return Error{Code::kInvalid, fmt::format("{}: {}", where, what)};
}

// An absent field keeps `value`.
Result<Nothing> read_integer(const Json& from, std::string_view field, const std::string& where,
                             std::int64_t low, std::int64_t high, std::int64_t& value) {
  const Json* found = kube::find(from, {field});
  if (found == nullptr) return ok();
  const bool negative_or_small = found->is_number_integer() && !found->is_number_unsigned();
  const bool fits =
      negative_or_small || (found->is_number_unsigned() &&
                            found->get<std::uint64_t>() <= static_cast<std::uint64_t>(high));
  if (!fits || found->get<std::int64_t>() < low || found->get<std::int64_t>() > high) {
    return wrong(fmt::format("{}.{}", where, field),
                 fmt::format("must be an integer from {} to {}", low, high));
  }
  value = found->get<std::int64_t>();
  return ok();
}

Result<Nothing> read_int(const Json& from, std::string_view field, const std::string& where,
                         int low, int& value) {
  std::int64_t wide = value;
  auto read = read_integer(from, field, where, low, std::numeric_limits<int>::max(), wide);
  if (read) value = static_cast<int>(wide);
  return read;
}

Result<Nothing> read_int64(const Json& from, std::string_view field, const std::string& where,
                           std::int64_t& value) {
  return read_integer(from, field, where, 0, std::numeric_limits<std::int64_t>::max(), value);
}

Result<std::string> required_text(const Json& from, std::string_view field,
                                  const std::string& where) {
  std::string text = kube::string_at(from, {field});
  if (text.empty()) return wrong(fmt::format("{}.{}", where, field), "must be a non-empty string");
  return text;
}

// Absent or empty text is the epoch.
Result<SysTime> read_time(const Json& from, std::string_view field, const std::string& where) {
  const std::string text = kube::string_at(from, {field});
  if (text.empty()) return SysTime{};
  auto time = parse_rfc3339(text);
  if (!time) return with_context(fmt::format("{}.{}", where, field), time.error());
  return time;
}

// `count` neighbours of one incarnation.
struct Run {
  SlotId first;
  int count = 1;
};

Result<Run> decode_run(const Json& from, const std::string& where) {
  Run run;
  if (!from.is_object()) return wrong(where, "must be an object");
  if (kube::find(from, {"ordinal"}) == nullptr) return wrong(where + ".ordinal", "is required");
  if (auto read = read_int(from, "ordinal", where, 0, run.first.ordinal); !read) {
    return read.error();
  }
  if (auto read = read_int(from, "incarnation", where, 0, run.first.incarnation); !read) {
    return read.error();
  }
  if (auto read = read_int(from, "count", where, 1, run.count); !read) {
    return read.error();
  }
  if (run.count > kMostSlots || run.first.ordinal > std::numeric_limits<int>::max() - run.count) {
    return wrong(where + ".count", "names more slots than there are ordinals");
  }
  return run;
}

// A slot wanted by two sets, or twice by one, would get two placements.
using Taken = std::set<std::pair<std::string, int>>;

Result<std::vector<SlotId>> decode_slots(const Json& from, const std::string& role,
                                         const std::string& where, Taken& taken) {
  std::vector<SlotId> slots;
  int entries = 0;
  for (const Json& entry : kube::array_at(from, {"slots"})) {
    const std::string here = fmt::format("{}.slots[{}]", where, entries++);
    const auto run = decode_run(entry, here);
    if (!run) return run.error();
    if (taken.size() + static_cast<std::size_t>(run->count) > kMostSlots) {
      return wrong(here, fmt::format("a PodGroup has at most {} slots", kMostSlots));
    }
    for (int i = 0; i < run->count; ++i) {
      const int ordinal = run->first.ordinal + i;
      if (!taken.emplace(role, ordinal).second) {
        return wrong(here, fmt::format("{}/{} is wanted twice", role, ordinal));
      }
      slots.push_back({ordinal, run->first.incarnation});
    }
  }
  return slots;
}

Result<Nothing> read_reserve(const Json& from, std::string_view field, const std::string& where,
                             int& value) {
  std::int64_t wide = value;
  auto read = read_integer(from, field, where, 0, kMostSlots, wide);
  if (read) value = static_cast<int>(wide);
  return read;
}

Result<Nothing> decode_from_reserved(const Json& from, const std::string& where,
                                     FromReserved& value) {
  const Json* found = kube::find(from, {"fromReserved"});
  if (found == nullptr) return ok();
  const std::string here = where + ".fromReserved";
  if (!found->is_object()) return wrong(here, "must be an object");
  auto set = required_text(*found, "set", here);
  if (!set) return set.error();
  value.set = *std::move(set);
  return read_reserve(*found, "count", here, value.count);
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
  if (auto read = read_reserve(from, "reserved", where, member.reserved_pods); !read)
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
  for (const auto& [field, kind] :
       {std::pair("hostPorts", kube::kHostPort), {"podAntiAffinity", kube::kPodAntiAffinity}}) {
    for (const Json& text : kube::array_at(from, {field})) {
      if (!text.is_string()) return wrong(fmt::format("{}.{}", where, field), "must be strings");
      member.shape.requests.set(std::string(kind) + text.get<std::string>(), 1);
    }
  }
  for (const Json& claim : kube::array_at(from, {"claims"})) {
    if (!claim.is_string()) return wrong(where + ".claims", "must be strings");
    member.shape.claims.push_back(claim.get<std::string>());
  }
  for (const Json& term : kube::array_at(from, {"podAffinity"})) {
    if (!term.is_string()) return wrong(where + ".podAffinity", "must be strings");
    member.shape.together.push_back(term.get<std::string>());
  }
  member.name = *std::move(name);
  member.role = *std::move(role);
  member.slots = *std::move(slots);
  member.bind_last = kube::bool_at(from, {"bindLast"});
  member.heals_alone = kube::bool_at(from, {"healsAlone"});
  member.shape.constraints = decode_constraints(from);
  if (auto read = read_int(from, "part", where, 0, member.part); !read) return read.error();
  return member;
}

std::optional<GangKind> parse_kind(std::string_view text) {
  for (const GangKind kind : {GangKind::kBase, GangKind::kAddedReplicas, GangKind::kRequest}) {
    if (text == to_string(kind)) return kind;
  }
  return std::nullopt;
}

Result<Gang> decode_gang(const Json& from, const std::string& where, Taken& taken) {
  Gang gang;
  auto name = required_text(from, "name", where);
  if (!name) return name.error();
  gang.name = *std::move(name);
  const auto kind = parse_kind(kube::string_at(from, {"kind"}));
  if (!kind) return wrong(where + ".kind", "must be Base, AddedReplicas or Request");
  gang.kind = *kind;
  if ((gang.kind == GangKind::kBase) != (gang.name == kBaseGang)) {
    return wrong(where + ".name", "must be \"base\" in the gang of kind Base, and in no other");
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
  for (const Json& entry : kube::array_at(from, {"members"})) {
    auto member =
        decode_member(entry, fmt::format("{}.members[{}]", where, gang.members.size()), taken);
    if (!member) return member.error();
    if (gang.kind != GangKind::kBase) member->reserved_pods = 0;
    gang.members.push_back(*std::move(member));
  }
  if (gang.members.empty()) return wrong(where + ".members", "must not be empty");
  return gang;
}

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
  if (kube::find(from, {"scheduleTimeoutSeconds"}) != nullptr) {
    auto& seconds = spec.schedule_timeout_seconds.emplace(0);
    auto read = read_int64(from, "scheduleTimeoutSeconds", "spec", seconds);
    if (!read) return read.error();
  }
  spec.direct_placement = kube::string_at(from, {"placement"}) == kDirect;
  if (auto read = read_int64(from, "highestPlacement", "spec", spec.highest_placement); !read) {
    return read.error();
  }
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

Result<Nothing> decode_placement_run(const Json& from, const std::string& where,
                                     const std::string& role, std::vector<Placement>& out) {
  const auto run = decode_run(from, where);
  if (!run) return run.error();
  auto node = required_text(from, "node", where);
  if (!node) return node.error();
  std::int64_t number = 0;
  if (auto read = read_int64(from, "number", where, number); !read) return read.error();
  if (out.size() + static_cast<std::size_t>(run->count) > kMostSlots ||
      number > std::numeric_limits<std::int64_t>::max() - run->count) {
    return wrong(where + ".count", "is too large");
  }
  for (int i = 0; i < run->count; ++i) {
    out.push_back({role, {run->first.ordinal + i, run->first.incarnation}, *node, number + i});
  }
  return ok();
}

Result<Nothing> decode_placements(const Json& from, const std::string& where,
                                  std::vector<Placement>& out) {
  if (!from.is_object()) return wrong(where, "must be an object");
  const auto role = required_text(from, "role", where);
  if (!role) return role.error();
  int entries = 0;
  for (const Json& entry : kube::array_at(from, {"nodes"})) {
    const std::string here = fmt::format("{}.nodes[{}]", where, entries++);
    if (auto read = decode_placement_run(entry, here, *role, out); !read) return read.error();
  }
  return ok();
}

Result<PlanRefusals> decode_refusals(const Json& from, const std::string& where) {
  PlanRefusals refusals;
  const Json* found = kube::find(from, {"refusals"});
  if (found == nullptr) return refusals;
  const std::string here = where + ".refusals";
  if (auto read = read_int(*found, "count", here, 0, refusals.count); !read) return read.error();
  auto after = read_time(*found, "planAfter", here);
  if (!after) return after.error();
  refusals.plan_after = *after;
  refusals.message = kube::string_at(*found, {"message"});
  for (const Json& one : kube::array_at(*found, {"waitsFor"})) {
    if (one.is_string()) refusals.waits_for.push_back(one.get<std::string>());
  }
  return refusals;
}

Result<AvoidedNode> decode_avoided(const Json& from, const std::string& where) {
  AvoidedNode avoided;
  auto set = required_text(from, "set", where);
  if (!set) return set.error();
  auto node = required_text(from, "node", where);
  if (!node) return node.error();
  if (auto read = read_int(from, "atMost", where, 0, avoided.at_most); !read) return read.error();
  if (auto read = read_int(from, "times", where, 1, avoided.times); !read) return read.error();
  auto until = read_time(from, "until", where);
  if (!until) return until.error();
  avoided.set = *std::move(set);
  avoided.node = *std::move(node);
  avoided.until = *until;
  return avoided;
}

// Merges two entries for one set and node.
Result<Nothing> decode_reserved(const Json& from, const std::string& where,
                                std::map<std::pair<std::string, std::string>, int>& out) {
  if (!from.is_object()) return wrong(where, "must be an object");
  const auto set = required_text(from, "set", where);
  if (!set) return set.error();
  int entries = 0;
  for (const Json& entry : kube::array_at(from, {"nodes"})) {
    const std::string here = fmt::format("{}.nodes[{}]", where, entries++);
    if (!entry.is_object()) return wrong(here, "must be an object");
    auto node = required_text(entry, "node", here);
    if (!node) return node.error();
    int count = 1;
    if (auto read = read_int(entry, "count", here, 1, count); !read) return read.error();
    int& sum = out[{*set, *std::move(node)}];
    if (count > kMostSlots - sum) return wrong(here + ".count", "is too large");
    sum += count;
  }
  return ok();
}

// An unknown code counts as vague: the next look replaces it.
HealingCause decode_healing_cause(const Json& from) {
  HealingCause cause;
  const std::string code = kube::string_at(from, {"healingCause", "code"});
  using Code = HealingCause::Code;
  for (const Code known : {Code::kPodLost, Code::kPodTerminating, Code::kPodNotStarted,
                           Code::kPodMissing, Code::kPodNotBound}) {
    if (code == to_string(known)) cause.code = known;
  }
  cause.message = kube::string_at(from, {"healingCause", "message"});
  return cause;
}

Result<GangStatus> decode_gang_status(const Json& from, const std::string& where) {
  auto name = required_text(from, "name", where);
  if (!name) return name.error();
  auto since = read_time(from, "since", where);
  if (!since) return since.error();
  GangStatus gang;
  gang.name = *std::move(name);
  gang.planned = kube::bool_at(from, {"planned"});
  gang.committed = kube::bool_at(from, {"committed"});
  gang.reason = kube::string_at(from, {"reason"});
  gang.message = kube::string_at(from, {"message"});
  if (const Json* cause = kube::find(from, {"cause"})) gang.cause = decode_no_fit(*cause);
  gang.since = *since;
  if (kube::find(from, {"healingSince"}) != nullptr) {
    auto healing = read_time(from, "healingSince", where);
    if (!healing) return healing.error();
    gang.healing_since = *healing;
    gang.healing_cause = decode_healing_cause(from);
  }
  if (auto read = read_int64(from, "directThrough", where, gang.direct_through); !read) {
    return read.error();
  }
  auto refusals = decode_refusals(from, where);
  if (!refusals) return refusals.error();
  gang.refusals = *std::move(refusals);
  int entries = 0;
  for (const Json& entry : kube::array_at(from, {"placements"})) {
    const std::string here = fmt::format("{}.placements[{}]", where, entries++);
    if (auto read = decode_placements(entry, here, gang.placements); !read) return read.error();
  }
  std::sort(gang.placements.begin(), gang.placements.end(),
            [](const Placement& a, const Placement& b) {
              return std::tie(a.role, a.slot) < std::tie(b.role, b.slot);
            });
  std::map<std::pair<std::string, std::string>, int> reserved;
  entries = 0;
  for (const Json& entry : kube::array_at(from, {"reserved"})) {
    const std::string here = fmt::format("{}.reserved[{}]", where, entries++);
    if (auto read = decode_reserved(entry, here, reserved); !read) return read.error();
  }
  for (const auto& [place, count] : reserved) {
    gang.reserved.push_back({place.first, place.second, count});
  }
  return gang;
}

Result<QueuePlace> decode_queue_place(const Json& from) {
  QueuePlace place;
  const Json* found = kube::find(from, {"queue"});
  if (found == nullptr) return place;
  place.name = kube::string_at(*found, {"name"});
  if (auto read = read_int(*found, "position", "status.queue", 0, place.position); !read) {
    return read.error();
  }
  if (kube::find(*found, {"maxRuntimeSeconds"}) != nullptr) {
    auto& seconds = place.max_runtime_seconds.emplace(0);
    auto read = read_int64(*found, "maxRuntimeSeconds", "status.queue", seconds);
    if (!read) return read.error();
  }
  return place;
}

Result<PodGroupStatus> decode_status(const Json& from) {
  PodGroupStatus status;
  auto place = decode_queue_place(from);
  if (!place) return place.error();
  status.queue = *std::move(place);
  auto generation = read_int64(from, "observedGeneration", "status", status.observed_generation);
  if (!generation) return generation.error();
  if (auto next = read_int64(from, "nextPlacement", "status", status.next_placement); !next) {
    return next.error();
  }
  for (const Json& entry : kube::array_at(from, {"gangs"})) {
    auto gang = decode_gang_status(entry, fmt::format("status.gangs[{}]", status.gangs.size()));
    if (!gang) return gang.error();
    status.gangs.push_back(*std::move(gang));
  }
  for (const Json& entry : kube::array_at(from, {"avoid"})) {
    auto avoided = decode_avoided(entry, fmt::format("status.avoid[{}]", status.avoid.size()));
    if (!avoided) return avoided.error();
    status.avoid.push_back(*std::move(avoided));
  }
  for (const Json& entry : kube::array_at(from, {"enlarged"})) {
    const std::string where = fmt::format("status.enlarged[{}]", status.enlarged.size());
    auto name = required_text(entry, "name", where);
    if (!name) return name.error();
    const Json* requests = kube::find(entry, {"requests"});
    auto amounts = kube::decode_resources(requests != nullptr ? *requests : Json());
    if (!amounts) return with_context(where + ".requests", amounts.error());
    EnlargedSet set{*std::move(name), *std::move(amounts), 1, {}, 0};
    if (auto read = read_int(entry, "times", where, 1, set.times); !read) return read.error();
    if (auto read = read_int(entry, "answer", where, 0, set.answer); !read) return read.error();
    auto until = read_time(entry, "until", where);
    if (!until) return until.error();
    set.until = *until;
    status.enlarged.push_back(std::move(set));
  }
  return status;
}

}  // namespace

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

}  // namespace nervex::gang
