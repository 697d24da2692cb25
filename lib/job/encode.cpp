// Writes the parts of a NerveXJob that this suite stores: the status and spec.requests.
#include <fmt/format.h>

#include "base/duration.h"
#include "job/types.h"

namespace nervex::job {
namespace {

Json encode_slot(Slot slot) {
  return {{"ordinal", slot.ordinal}, {"incarnation", slot.incarnation}};
}

Json encode_counts(const RoleCounts& counts) {
  return {{"active", counts.active}, {"succeeded", counts.succeeded}, {"failed", counts.failed}};
}

Json encode_ended(const Status::Ended& ended) {
  Json out = encode_slot(ended.slot);
  out["role"] = to_string(ended.role);
  out["succeeded"] = ended.succeeded;
  return out;
}

Json encode_replaced(const Status::Replaced& replaced) {
  Json out = encode_slot(replaced.slot);
  out["role"] = to_string(replaced.role);
  return out;
}

Json encode_continued(const Status::Continued& continued) {
  Json out = encode_slot(continued.from);
  out["role"] = to_string(continued.role);
  out["namedAs"] = continued.ordinal;
  if (continued.count != 1) out["count"] = continued.count;
  return out;
}

Json encode_avoided(const Status::AvoidedNode& avoided) {
  return {{"role", to_string(avoided.role)},
          {"node", avoided.node},
          {"atMost", avoided.at_most},
          {"times", avoided.times},
          {"until", to_rfc3339_micro(avoided.until)}};
}

Json encode_last_attempt(const LastAttempt& last) {
  Json out = {{"attempt", last.attempt},
              {"reason", last.reason},
              {"message", last.message},
              {"endTime", to_rfc3339(last.end_time)}};
  if (last.exit_code) out["exitCode"] = *last.exit_code;
  return out;
}

Json encode_condition(const Condition& condition) {
  return {{"type", condition.type},
          {"status", condition.status ? "True" : "False"},
          {"reason", condition.reason},
          {"message", condition.message},
          {"lastTransitionTime", to_rfc3339(condition.last_transition)},
          {"observedGeneration", condition.observed_generation}};
}

Json encode_entry(const RequestEntry& entry) {
  Json out = {{"id", entry.id},
              {"attempt", entry.attempt},
              {"role", to_string(entry.role)},
              {"resources", Json::object()},
              {"slots", Json::array()}};
  if (entry.requested_at) out["requestedAt"] = to_rfc3339_micro(*entry.requested_at);
  if (!entry.cpus.empty()) out["resources"]["cpus"] = entry.cpus;
  if (!entry.gpus.empty()) out["resources"]["gpus"] = entry.gpus;
  if (!entry.memory.empty()) out["resources"]["memory"] = entry.memory;
  if (!entry.gpu_split.empty()) out["gpuSplit"] = entry.gpu_split;
  for (const Slot slot : entry.slots) out["slots"].push_back(encode_slot(slot));
  return out;
}

Json encode_moved(const MovedReplica& moved) {
  return {{"attempt", moved.attempt},
          {"role", to_string(moved.role)},
          {"from", moved.from},
          {"to", moved.to}};
}

Json encode_run(const ReplicaRun& run) {
  Json out = encode_slot(run.first);
  out["role"] = to_string(run.role);
  out["count"] = run.count;
  return out;
}

Json encode_call(const CallRecord& call) {
  Json out = {{"attempt", call.attempt},
              {"method", call.method},
              {"bodyHash", call.body_hash},
              {"source", call.source},
              {"writer", call.writer},
              {"number", call.number},
              {"time", to_rfc3339_micro(call.time)},
              {"replicas", Json::array()}};
  if (!call.key.empty()) out["key"] = call.key;
  for (const auto& run : call.replicas) out["replicas"].push_back(encode_run(run));
  return out;
}

Json encode_base_change(const BaseChange& change) {
  Json out = encode_slot(change.slot);
  out["attempt"] = change.attempt;
  out["role"] = to_string(change.role);
  out["removed"] = change.removed;
  if (change.id != 0) {
    out["id"] = change.id;
    out["replicas"] = change.replicas;
  }
  return out;
}

}  // namespace

Json encode_status(const Status& status) {
  Json out = {{"phase", to_string(status.phase)},
              {"reason", status.reason},
              {"attempt", status.attempt},
              {"observedGeneration", status.observed_generation},
              {"ready", fmt::format("{}/{}", status.ready, status.desired)},
              {"replicaStatus",
               {{"Coordinator", encode_counts(status.coordinator)},
                {"Aggregator", encode_counts(status.aggregator)},
                {"Collector", encode_counts(status.collector)},
                {"Learner", encode_counts(status.learner)}}},
              {"ended", Json::array()},
              {"conditions", Json::array()}};
  // With fractions of a second, because it orders the queue.
  if (status.queued_since) out["queuedSince"] = to_rfc3339_micro(*status.queued_since);
  if (!status.queue.name.empty()) out["queue"]["name"] = status.queue.name;
  if (status.queue.position > 0) out["queue"]["position"] = status.queue.position;
  if (status.waiting_since) out["waitingSince"] = to_rfc3339_micro(*status.waiting_since);
  if (status.active_since) out["activeSince"] = to_rfc3339(*status.active_since);
  if (status.active_seconds > 0) out["activeSeconds"] = status.active_seconds;
  if (status.gang_started_time) out["gangStartedTime"] = to_rfc3339(*status.gang_started_time);
  if (status.start_time) out["startTime"] = to_rfc3339(*status.start_time);
  if (status.completion_time) out["completionTime"] = to_rfc3339(*status.completion_time);
  if (status.start_time && status.completion_time) {  // for a printer column
    out["duration"] = short_duration(std::chrono::duration_cast<std::chrono::seconds>(
        *status.completion_time - *status.start_time));
  }
  if (status.failed_attempts > 0) out["failedAttempts"] = status.failed_attempts;
  if (status.next_attempt_time) out["nextAttemptTime"] = to_rfc3339(*status.next_attempt_time);
  if (status.last_attempt) out["lastAttempt"] = encode_last_attempt(*status.last_attempt);
  if (status.disrupted_attempts > 0) out["disruptedAttempts"] = status.disrupted_attempts;
  for (const auto& avoided : status.avoid) out["avoid"].push_back(encode_avoided(avoided));
  if (!status.replaced.empty()) out["replaced"] = Json::array();
  for (const auto& replaced : status.replaced) out["replaced"].push_back(encode_replaced(replaced));
  if (!status.continued.empty()) out["continued"] = Json::array();
  for (const auto& one : status.continued) out["continued"].push_back(encode_continued(one));
  const bool has_continued = status.next_continued_collector > kFirstContinuedOrdinal ||
                             status.next_continued_learner > kFirstContinuedOrdinal;
  if (has_continued) {
    out["nextContinued"] = {{"collector", status.next_continued_collector},
                            {"learner", status.next_continued_learner}};
  }
  if (!status.requeued_gangs.empty()) out["requeuedGangs"] = Json::array();
  for (const auto& gang : status.requeued_gangs) {
    Json& item = out["requeuedGangs"].emplace_back(Json{
        {"name", gang.name}, {"count", gang.count}, {"requeueAt", to_rfc3339(gang.requeue_at)}});
    if (gang.learner) item["learner"] = *gang.learner;
    if (gang.added) {
      item["addedReplicas"] = {{"role", to_string(gang.added->role)},
                               {"firstOrdinal", gang.added->first_ordinal}};
      const auto& since = gang.added->queued_since;
      if (since) item["addedReplicas"]["queuedSince"] = to_rfc3339_micro(*since);
    }
    if (!gang.reason.empty()) item["reason"] = gang.reason;
  }
  if (!status.created_through.pod_group_uid.empty()) {
    Json gangs = Json::array();
    for (const auto& [name, placement] : status.created_through.gangs) {
      gangs.push_back({{"name", name}, {"placement", placement}});
    }
    out["createdThrough"] = {{"podGroupUID", status.created_through.pod_group_uid},
                             {"gangs", std::move(gangs)}};
  }
  const bool has_next = status.next_collector > kFirstRequestedOrdinal ||
                        status.next_learner > kFirstRequestedOrdinal;
  if (has_next) {
    out["next"] = {{"collector", status.next_collector}, {"learner", status.next_learner}};
  }
  if (status.services != ServiceMode::kNone) out["services"] = to_string(status.services);
  if (status.max_reservation_seconds)
    out["maxReservationSeconds"] = *status.max_reservation_seconds;
  if (status.naming_version > 0) out["namingVersion"] = status.naming_version;
  if (status.returned_collector > 0 || status.returned_learner > 0) {
    out["returned"] = {{"collector", status.returned_collector},
                       {"learner", status.returned_learner}};
  }
  if (!status.selector.empty()) {
    out["selector"] = status.selector;
    out["baseCollectors"] = status.base_collectors;
  }
  for (const auto& ended : status.ended) out["ended"].push_back(encode_ended(ended));
  for (const auto& condition : status.conditions) {
    out["conditions"].push_back(encode_condition(condition));
  }
  if (!status.unknown.is_null()) {
    for (const auto& [name, value] : status.unknown.get().items()) out.emplace(name, value);
  }
  return out;
}

Json encode_requests(const Requests& requests) {
  Json out = {
      {"next", {{"collector", requests.next_collector}, {"learner", requests.next_learner}}},
      {"nextId", requests.next_id},
      {"base", Json::array()},
      {"entries", Json::array()},
      {"moved", Json::array()},
      {"calls", Json::array()}};
  for (const auto& change : requests.base) out["base"].push_back(encode_base_change(change));
  for (const auto& entry : requests.entries) out["entries"].push_back(encode_entry(entry));
  for (const auto& moved : requests.moved) out["moved"].push_back(encode_moved(moved));
  for (const auto& call : requests.calls) out["calls"].push_back(encode_call(call));
  return out;
}

}  // namespace nervex::job
