#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "gang/decode_fields.h"

namespace nervex::gang {
namespace {

Result<Nothing> decode_placement_run(const Json& from, const std::string& where,
                                     const std::string& role, std::vector<Placement>& out) {
  const auto run = decode_slot_run(from, where);
  if (!run) return run.error();
  auto node = required_text(from, "node", where);
  if (!node) return node.error();
  std::int64_t number = 0;
  if (auto read = read_int64(from, "number", where, number); !read) return read.error();
  if (out.size() + static_cast<std::size_t>(run->count) > kMostSlots ||
      number > std::numeric_limits<std::int64_t>::max() - run->count) {
    return invalid_field(where + ".count", "is too large");
  }
  for (int i = 0; i < run->count; ++i) {
    out.push_back({role, {run->first.ordinal + i, run->first.incarnation}, *node, number + i});
  }
  return ok();
}

Result<Nothing> decode_placements(const Json& from, const std::string& where,
                                  std::vector<Placement>& out) {
  if (!from.is_object()) return invalid_field(where, "must be an object");
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
  refusals.cause = kube::string_at(*found, {"cause"});
  return refusals;
}

// Merges two entries for one set and node.
Result<Nothing> decode_reserved(const Json& from, const std::string& where,
                                std::map<std::pair<std::string, std::string>, int>& out) {
  if (!from.is_object()) return invalid_field(where, "must be an object");
  const auto set = required_text(from, "set", where);
  if (!set) return set.error();
  int entries = 0;
  for (const Json& entry : kube::array_at(from, {"nodes"})) {
    const std::string here = fmt::format("{}.nodes[{}]", where, entries++);
    if (!entry.is_object()) return invalid_field(here, "must be an object");
    auto node = required_text(entry, "node", here);
    if (!node) return node.error();
    int count = 1;
    if (auto read = read_int(entry, "count", here, 1, count); !read) return read.error();
    int& sum = out[{*set, *std::move(node)}];
    if (count > kMostSlots - sum) return invalid_field(here + ".count", "is too large");
    sum += count;
  }
  return ok();
}

// By set and node.
Result<std::vector<ReservedCapacity>> decode_all_reserved(const Json& from, const char* field,
                                                          const std::string& where) {
  std::map<std::pair<std::string, std::string>, int> counts;
  int entries = 0;
  for (const Json& entry : kube::array_at(from, {field})) {
    const std::string here = fmt::format("{}.{}[{}]", where, field, entries++);
    if (auto read = decode_reserved(entry, here, counts); !read) return read.error();
  }
  std::vector<ReservedCapacity> reserved;
  reserved.reserve(counts.size());
  for (const auto& [place, count] : counts) reserved.push_back({place.first, place.second, count});
  return reserved;
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

Result<Victim> decode_victim(const Json& from, const std::string& where) {
  auto uid = required_text(from, "podGroupUID", where);
  if (!uid) return uid.error();
  auto gang = required_text(from, "gang", where);
  if (!gang) return gang.error();
  Victim victim{*std::move(uid),
                *std::move(gang),
                0,
                kube::string_at(from, {"reason"}) == kReclaim,
                kube::string_at(from, {"podGroup"}),
                kube::string_at(from, {"reason"}) == kForReservation};
  if (auto read = read_int64(from, "placedThrough", where, victim.through); !read) {
    return read.error();
  }
  return victim;
}

// nullopt: there is no such field.
Result<std::optional<SysTime>> find_time(const Json& from, const char* field,
                                         const std::string& where) {
  if (kube::find(from, {field}) == nullptr) return std::optional<SysTime>();
  auto time = read_time(from, field, where);
  if (!time) return time.error();
  return std::optional<SysTime>(*time);
}

Result<Nothing> decode_reservation(const Json& from, const std::string& where, GangStatus& gang) {
  auto after = find_time(from, "reserveAfter", where);
  if (!after) return after.error();
  gang.reserve_after = *after;
  if (kube::find(from, {"plannedRunSeconds"}) != nullptr) {
    auto& seconds = gang.planned_run_seconds.emplace(0);
    if (auto read = read_int64(from, "plannedRunSeconds", where, seconds); !read) return read;
  }
  const Json* found = kube::find(from, {"reservation"});
  if (found == nullptr) return ok();
  const std::string here = where + ".reservation";
  auto since = read_time(*found, "since", here);
  if (!since) return since.error();
  auto due = find_time(*found, "due", here);
  if (!due) return due.error();
  auto nodes = decode_all_reserved(*found, "nodes", here);
  if (!nodes) return nodes.error();
  auto renew_after = find_time(*found, "renewAfter", here);
  if (!renew_after) return renew_after.error();
  std::vector<std::string> jobs;
  for (const Json& one : kube::array_at(*found, {"countsOn"})) {
    if (one.is_string()) jobs.push_back(one.get<std::string>());
  }
  std::sort(jobs.begin(), jobs.end());
  gang.reservation = Reservation{*std::move(nodes), *since, *due, std::move(jobs), *renew_after};
  return ok();
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
  if (kube::find(from, {"startedAt"}) != nullptr) {
    auto started = read_time(from, "startedAt", where);
    if (!started) return started.error();
    gang.started_at = *started;
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
  auto reserved = decode_all_reserved(from, "reserved", where);
  if (!reserved) return reserved.error();
  gang.reserved = *std::move(reserved);
  for (const Json& entry : kube::array_at(from, {"victims"})) {
    auto victim = decode_victim(entry, fmt::format("{}.victims[{}]", where, gang.victims.size()));
    if (!victim) return victim.error();
    gang.victims.push_back(*std::move(victim));
  }
  if (auto read = decode_reservation(from, where, gang); !read) return read.error();
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
  for (const Json& one : kube::array_at(*found, {"parents"})) {
    if (one.is_string()) place.parents.push_back(one.get<std::string>());
  }
  return place;
}

}  // namespace

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
  if (auto read = read_avoided(from, "status", status.avoid); !read) return read.error();
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

}  // namespace nervex::gang
