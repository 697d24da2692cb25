// NerveXJob from JSON. encode.cpp writes the parts that this suite stores.
#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "job/names.h"
#include "job/types.h"
#include "kube/model/json.h"

namespace nervex::job {
namespace {

// ---- reading fields, and reporting the first wrong one

// Reads the fields of one JSON object. A field that is absent, null or of a wrong type gets its
// default. `error` keeps the first field of a wrong type in the whole document. `error` and the
// JSON must outlive the reader. Not thread-safe.
class Fields {
 public:
  Fields(const Json& object, std::string path, std::optional<Error>& error);

  std::string text(std::string_view name);
  bool boolean(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t otherwise, std::int64_t min = 0,
                       std::int64_t max = std::numeric_limits<std::int64_t>::max());
  int small_integer(std::string_view name, int otherwise, int max = 1'000'000'000);
  std::optional<SysTime> time(std::string_view name);
  // The value itself if it has that type, else an empty value of the type.
  Json raw(std::string_view name, Json::value_t type);

  bool has(std::string_view name) const;
  Fields object(std::string_view name);  // reads as empty if absent
  // Each item of an array of objects, in order.
  void each(std::string_view name, const std::function<void(Fields)>& read);
  // Reports a field that has the right type but a wrong value.
  void refuse(std::string_view name, std::string_view why);

 private:
  const Json* value(std::string_view name) const;
  std::string field_path(std::string_view name) const;

  const Json& object_;
  const std::string path_;
  std::optional<Error>& error_;
};

const Json& empty_object() {
  static const Json kEmpty = Json::object();
  return kEmpty;
}

Fields::Fields(const Json& object, std::string path, std::optional<Error>& error)
    : object_(object), path_(std::move(path)), error_(error) {}

const Json* Fields::value(std::string_view name) const { return kube::find(object_, {name}); }

std::string Fields::field_path(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

bool Fields::has(std::string_view name) const { return value(name) != nullptr; }

void Fields::refuse(std::string_view name, std::string_view why) {
  if (!error_) error_ = Error{Code::kInvalid, fmt::format("{}: {}", field_path(name), why)};
}

std::string Fields::text(std::string_view name) {
  const Json* at = value(name);
  if (at == nullptr) return "";
  if (at->is_string()) return at->get<std::string>();
  refuse(name, "must be a string");
  return "";
}

bool Fields::boolean(std::string_view name) {
  const Json* at = value(name);
  if (at == nullptr) return false;
  if (at->is_boolean()) return at->get<bool>();
  refuse(name, "must be true or false");
  return false;
}

std::int64_t Fields::integer(std::string_view name, std::int64_t otherwise, std::int64_t min,
                             std::int64_t max) {
  if (!has(name)) return otherwise;
  const std::int64_t low = kube::int_at(object_, {name}, min - 1);
  if (low >= min && low <= max) return low;
  refuse(name, fmt::format("must be an integer between {} and {}", min, max));
  return otherwise;
}

int Fields::small_integer(std::string_view name, int otherwise, int max) {
  return static_cast<int>(integer(name, otherwise, 0, max));
}

std::optional<SysTime> Fields::time(std::string_view name) {
  if (!has(name)) return std::nullopt;
  const auto parsed = parse_rfc3339(text(name));
  if (parsed) return *parsed;
  refuse(name, "must be a time in RFC 3339 format");
  return std::nullopt;
}

Json Fields::raw(std::string_view name, Json::value_t type) {
  const Json* at = value(name);
  if (at == nullptr) return Json(type);
  if (at->type() == type) return *at;
  refuse(name, type == Json::value_t::array ? "must be a list" : "must be an object");
  return Json(type);
}

Fields Fields::object(std::string_view name) {
  const Json* at = value(name);
  if (at != nullptr && !at->is_object()) {
    refuse(name, "must be an object");
    at = nullptr;
  }
  return Fields(at == nullptr ? empty_object() : *at, field_path(name), error_);
}

void Fields::each(std::string_view name, const std::function<void(Fields)>& read) {
  const Json* at = value(name);
  if (at == nullptr) return;
  if (!at->is_array()) return refuse(name, "must be a list");
  for (std::size_t i = 0; i < at->size(); ++i) {
    const std::string item = fmt::format("{}[{}]", name, i);
    if (!(*at)[i].is_object()) return refuse(item, "must be an object");
    read(Fields((*at)[i], field_path(item), error_));
  }
}

// ---- spec

constexpr std::int64_t kMaxGpusPerPod = 1'000'000;
constexpr std::int64_t kMaxSeconds = 100LL * 365 * 24 * 3600;

CleanPodPolicy read_policy(Fields& spec) {
  const std::string text = spec.text("cleanPodPolicy");
  if (text.empty() || text == "Running") return CleanPodPolicy::kRunning;
  if (text == "All" || text == "ALL") return CleanPodPolicy::kAll;
  if (text == "None") return CleanPodPolicy::kNone;
  spec.refuse("cleanPodPolicy", "supported values: \"All\", \"None\", \"Running\"");
  return CleanPodPolicy::kNone;
}

std::optional<Topology> read_topology(Fields& fields) {
  if (!fields.has("topology")) return std::nullopt;
  Fields topology = fields.object("topology");
  const std::string policy = topology.text("policy");
  if (!policy.empty() && policy != "Required" && policy != "Preferred") {
    topology.refuse("policy", "supported values: \"Required\", \"Preferred\"");
  }
  if (!topology.has("level")) topology.refuse("level", "is missing");
  return Topology{topology.text("level"), policy != "Preferred"};
}

std::vector<std::string> read_texts(Fields& fields, std::string_view name) {
  std::vector<std::string> texts;
  for (const Json& item : fields.raw(name, Json::value_t::array)) {
    if (!item.is_string()) fields.refuse(name, "must be a list of strings");
    if (item.is_string()) texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::optional<RoleSpec> read_role_spec(Fields& spec, std::string_view name) {
  if (!spec.has(name)) return std::nullopt;
  Fields fields = spec.object(name);
  RoleSpec role;
  if (fields.has("template")) role.pod_template = fields.raw("template", Json::value_t::object);
  role.replicas = fields.small_integer("replicas", 0, kFirstRequestedOrdinal);
  role.reserved_replicas = fields.small_integer("reservedReplicas", 0, kFirstRequestedOrdinal);
  if (fields.has("maxReplicas")) role.max_replicas = fields.small_integer("maxReplicas", 0);
  role.topology = read_topology(fields);
  role.node_classes = read_texts(fields, "nodeClasses");
  return role;
}

Role read_role(Fields& fields) {
  if (const auto role = parse_role(fields.text("role"))) return *role;
  fields.refuse("role", "must be a role of a job");
  return Role::kCollector;
}

Slot read_slot(Fields& fields) {
  return {fields.small_integer("ordinal", 0, kMaxOrdinal),
          fields.small_integer("incarnation", 0, kMaxIncarnations)};
}

Status::Continued read_continued(Fields& fields) {
  const Role role = read_role(fields);
  return {role, read_slot(fields),
          fields.small_integer("namedAs", kFirstContinuedOrdinal, kMaxOrdinal),
          fields.small_integer("count", 1, kMaxOrdinal)};
}

RequestEntry read_entry(Fields& fields) {
  RequestEntry entry;
  entry.id = fields.integer("id", 0);
  entry.attempt = fields.small_integer("attempt", 0);
  entry.role = read_role(fields);
  entry.requested_at = fields.time("requestedAt");
  Fields resources = fields.object("resources");
  entry.cpus = resources.text("cpus");
  entry.gpus = resources.text("gpus");
  entry.memory = resources.text("memory");
  for (const auto& gpus : fields.raw("gpuSplit", Json::value_t::array)) {
    const std::int64_t count = gpus.is_number_integer() ? gpus.get<std::int64_t>() : -1;
    const bool is_count = count >= 0 && count <= kMaxGpusPerPod;
    if (!is_count) fields.refuse("gpuSplit", "must be a list of counts");
    if (is_count) entry.gpu_split.push_back(static_cast<int>(count));
  }
  fields.each("slots", [&](Fields slot) { entry.slots.push_back(read_slot(slot)); });
  return entry;
}

MovedReplica read_moved(Fields& fields) {
  return {fields.small_integer("attempt", 0), read_role(fields),
          fields.small_integer("from", 0, kMaxOrdinal), fields.small_integer("to", 0, kMaxOrdinal)};
}

CallRecord read_call(Fields& fields) {
  CallRecord call;
  call.attempt = fields.small_integer("attempt", 0);
  call.method = fields.text("method");
  call.body_hash = fields.text("bodyHash");
  call.key = fields.text("key");
  call.source = fields.text("source");
  call.writer = fields.text("writer");
  call.number = fields.integer("number", 0);
  call.time = fields.time("time").value_or(SysTime{});
  fields.each("replicas", [&](Fields run) {
    const Role role = read_role(run);
    call.replicas.push_back({role, read_slot(run), run.small_integer("count", 1, kMaxOrdinal + 1)});
  });
  return call;
}

Requests read_requests(Fields fields) {
  Requests requests;
  Fields next = fields.object("next");
  requests.next_collector = next.small_integer("collector", requests.next_collector);
  requests.next_learner = next.small_integer("learner", requests.next_learner);
  requests.next_id = fields.integer("nextId", requests.next_id);
  fields.each("base", [&](Fields change) {
    const int attempt = change.small_integer("attempt", 0);
    const Role role = read_role(change);
    const Slot slot = read_slot(change);
    requests.base.push_back({attempt, role, slot, change.boolean("removed"),
                             change.integer("id", 0), change.small_integer("replicas", 0)});
  });
  fields.each("entries", [&](Fields entry) { requests.entries.push_back(read_entry(entry)); });
  fields.each("moved", [&](Fields moved) { requests.moved.push_back(read_moved(moved)); });
  fields.each("calls", [&](Fields call) { requests.calls.push_back(read_call(call)); });
  return requests;
}

// Bounded so that adding it to a point in time does not overflow.
std::optional<std::int64_t> read_seconds(Fields& spec, std::string_view name) {
  if (!spec.has(name)) return std::nullopt;
  return std::min(spec.integer(name, 0), kMaxSeconds);
}

// Within the range that admission accepts.
std::optional<int> read_count(Fields& spec, std::string_view name) {
  if (!spec.has(name)) return std::nullopt;
  return spec.small_integer(name, 0, std::numeric_limits<std::int32_t>::max());
}

Spec read_spec(Fields fields) {
  Spec spec;
  spec.group = fields.text("group");
  spec.priority_class_name = fields.text("priorityClassName");
  spec.queue = fields.text("queue");
  spec.clean_pod_policy = read_policy(fields);
  spec.volumes = fields.raw("volumes", Json::value_t::array);
  spec.coordinator_template = fields.object("coordinator").raw("template", Json::value_t::object);
  spec.collector = read_role_spec(fields, "collector");
  spec.learner = read_role_spec(fields, "learner");
  spec.topology = read_topology(fields);
  spec.aggregator = fields.text("aggregator");
  spec.reservation_seconds =
      read_count(fields, "reservationSeconds").value_or(spec.reservation_seconds);
  spec.suspend = fields.boolean("suspend");
  spec.preemptible = fields.boolean("preemptible");
  spec.active_deadline_seconds = read_seconds(fields, "activeDeadlineSeconds");
  spec.schedule_timeout_seconds = read_seconds(fields, "scheduleTimeoutSeconds");
  spec.start_timeout_seconds = read_seconds(fields, "startTimeoutSeconds");
  spec.backoff_limit = read_count(fields, "backoffLimit");
  spec.ttl_seconds_after_finished = read_count(fields, "ttlSecondsAfterFinished");
  spec.requests = read_requests(fields.object("requests"));
  spec.has_requests = fields.has("requests");
  spec.has_requests_next = spec.has_requests && fields.object("requests").has("next");
  return spec;
}

// ---- status

Phase read_phase(Fields& status) {
  const std::string text = status.text("phase");
  for (const Phase phase :
       {Phase::kNone, Phase::kCreated, Phase::kRunning, Phase::kSucceeded, Phase::kFailed}) {
    if (text == to_string(phase)) return phase;
  }
  status.refuse("phase", "must be one of Created, Running, Succeeded, Failed");
  return Phase::kNone;
}

ServiceMode read_services(Fields& status) {
  const std::string text = status.text("services");
  for (const ServiceMode mode : {ServiceMode::kNone, ServiceMode::kShared, ServiceMode::kPerPod}) {
    if (text == to_string(mode)) return mode;
  }
  status.refuse("services", "must be Shared or PerPod");
  return ServiceMode::kNone;
}

RoleCounts read_counts(Fields fields) {
  return {fields.small_integer("active", 0), fields.small_integer("succeeded", 0),
          fields.small_integer("failed", 0)};
}

Condition read_condition(Fields& fields) {
  Condition condition;
  condition.type = fields.text("type");
  condition.status = fields.text("status") == "True";
  condition.reason = fields.text("reason");
  condition.message = fields.text("message");
  condition.last_transition = fields.time("lastTransitionTime").value_or(SysTime{});
  condition.observed_generation = fields.integer("observedGeneration", 0);
  return condition;
}

// "3/4"
void read_ready(Fields& fields, Status& status) {
  const std::string text = fields.text("ready");
  const auto slash = text.find('/');
  if (slash == std::string::npos) return;
  status.ready = std::atoi(text.c_str());
  status.desired = std::atoi(text.c_str() + slash + 1);
}

LastAttempt read_last_attempt(Fields fields) {
  LastAttempt last;
  last.attempt = fields.small_integer("attempt", 0);
  last.reason = fields.text("reason");
  if (fields.has("exitCode"))
    last.exit_code = static_cast<int>(fields.integer("exitCode", 0, INT32_MIN, INT32_MAX));
  last.message = fields.text("message");
  last.end_time = fields.time("endTime").value_or(SysTime{});
  return last;
}

// Every field that encode_status() writes, or once wrote; sorted.
constexpr std::string_view kStatusFields[] = {"activeSeconds",
                                              "activeSince",
                                              "attempt",
                                              "avoid",
                                              "baseCollectors",
                                              "completionTime",
                                              "conditions",
                                              "continued",
                                              "createdThrough",
                                              "disruptedAttempts",
                                              "duration",
                                              "ended",
                                              "failedAttempts",
                                              "gangStartedTime",
                                              "lastAttempt",
                                              "maxReservationSeconds",
                                              "namingVersion",
                                              "next",
                                              "nextAttemptTime",
                                              "nextContinued",
                                              "observedGeneration",
                                              "phase",
                                              "queue",
                                              "queuedSince",
                                              "queuedTime",
                                              "ready",
                                              "reason",
                                              "replaced",
                                              "replicaStatus",
                                              "requeuedGangs",
                                              "returned",
                                              "selector",
                                              "services",
                                              "startTime",
                                              "waitingSince"};
static_assert(std::is_sorted(std::begin(kStatusFields), std::end(kStatusFields)));

kube::SharedJson find_unknown_fields(const Json& object) {
  kube::SharedJson unknown;
  const Json* status = kube::find(object, {"status"});
  if (status == nullptr || !status->is_object()) return unknown;
  for (auto field = status->begin(); field != status->end(); ++field) {
    if (std::binary_search(std::begin(kStatusFields), std::end(kStatusFields), field.key()))
      continue;
    unknown.edit()[field.key()] = field.value();
  }
  return unknown;
}

Status read_status(Fields fields) {
  Status status;
  status.phase = read_phase(fields);
  status.reason = fields.text("reason");
  status.attempt = fields.small_integer("attempt", status.attempt);
  // -1 is the schema's default: no controller has seen the job yet.
  status.observed_generation = fields.integer("observedGeneration", 0, -1);
  status.queued_since = fields.time("queuedSince");
  Fields queue = fields.object("queue");
  status.queue = {queue.text("name"), queue.small_integer("position", 0)};
  status.waiting_since = fields.time("waitingSince");
  // The field's name up to version 0.2.
  if (!status.waiting_since) status.waiting_since = fields.time("queuedTime");
  status.active_since = fields.time("activeSince");
  status.active_seconds = std::min(fields.integer("activeSeconds", 0), kMaxSeconds);
  status.gang_started_time = fields.time("gangStartedTime");
  status.start_time = fields.time("startTime");
  status.completion_time = fields.time("completionTime");
  status.failed_attempts = fields.small_integer("failedAttempts", 0);
  status.next_attempt_time = fields.time("nextAttemptTime");
  if (fields.has("lastAttempt"))
    status.last_attempt = read_last_attempt(fields.object("lastAttempt"));
  status.disrupted_attempts = fields.small_integer("disruptedAttempts", 0);
  fields.each("avoid", [&](Fields avoided) {
    const Role role = read_role(avoided);
    status.avoid.push_back({role, avoided.text("node"), avoided.small_integer("atMost", 0),
                            avoided.small_integer("times", 1),
                            avoided.time("until").value_or(SysTime{})});
  });
  read_ready(fields, status);
  Fields counts = fields.object("replicaStatus");
  status.coordinator = read_counts(counts.object("Coordinator"));
  status.aggregator = read_counts(counts.object("Aggregator"));
  status.collector = read_counts(counts.object("Collector"));
  status.learner = read_counts(counts.object("Learner"));
  fields.each("ended", [&](Fields ended) {
    const Role role = read_role(ended);
    status.ended.push_back({role, read_slot(ended), ended.boolean("succeeded")});
  });
  fields.each("replaced", [&](Fields replaced) {
    const Role role = read_role(replaced);
    status.replaced.push_back({role, read_slot(replaced)});
  });
  fields.each("continued", [&](Fields one) { status.continued.push_back(read_continued(one)); });
  Fields next_continued = fields.object("nextContinued");
  status.next_continued_collector =
      next_continued.small_integer("collector", status.next_continued_collector);
  status.next_continued_learner =
      next_continued.small_integer("learner", status.next_continued_learner);
  fields.each("requeuedGangs", [&](Fields gang) {
    Status::RequeuedGang& requeued = status.requeued_gangs.emplace_back();
    requeued.name = gang.text("name");
    requeued.count = gang.small_integer("count", 0);
    requeued.requeue_at = gang.time("requeueAt").value_or(SysTime{});
    if (gang.has("learner")) requeued.learner = gang.small_integer("learner", 0, kMaxOrdinal);
    if (gang.has("addedReplicas")) {
      Fields added = gang.object("addedReplicas");
      const Role role = read_role(added);
      requeued.added = {role, added.small_integer("firstOrdinal", 0, kMaxOrdinal),
                        added.time("queuedSince")};
    }
    requeued.reason = gang.text("reason");
  });
  Fields created = fields.object("createdThrough");
  status.created_through.pod_group_uid = created.text("podGroupUID");
  created.each("gangs", [&](Fields gang) {
    status.created_through.gangs[gang.text("name")] = gang.integer("placement", 0);
  });
  Fields next = fields.object("next");
  status.next_collector = next.small_integer("collector", status.next_collector);
  status.next_learner = next.small_integer("learner", status.next_learner);
  status.services = read_services(fields);
  status.max_reservation_seconds = read_count(fields, "maxReservationSeconds");
  status.naming_version = fields.small_integer("namingVersion", 0);
  Fields returned = fields.object("returned");
  status.returned_collector = returned.integer("collector", 0);
  status.returned_learner = returned.integer("learner", 0);
  status.selector = fields.text("selector");
  status.base_collectors = fields.small_integer("baseCollectors", 0);
  fields.each("conditions",
              [&](Fields condition) { status.conditions.push_back(read_condition(condition)); });
  return status;
}

}  // namespace

Result<Job> decode_job(const Json& object) {
  std::optional<Error> error;
  Fields fields(object, "", error);
  Job job{kube::decode_meta(object), read_spec(fields.object("spec")),
          read_status(fields.object("status"))};
  job.status.unknown = find_unknown_fields(object);
  if (job.meta.name.empty()) fields.refuse("metadata.name", "is missing");
  if (error) return with_context("nervexjob " + job.meta.key(), *error);
  return job;
}

Result<Job> parse_job(std::string_view json) {
  const auto object = kube::parse_json(json);
  return object ? decode_job(*object) : object.error();
}

}  // namespace nervex::job
