// job/types.h - the NerveXJob as a value.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"
#include "kube/model/shared_json.h"

namespace nervex::job {

inline constexpr std::string_view kApiVersion = "nervex.sensetime.com/v1alpha1";
inline constexpr std::string_view kKind = "NerveXJob";

enum class Role { kCoordinator, kAggregator, kCollector, kLearner, kDdpLearner };
// "coordinator", "aggregator", "collector", "learner", "ddp-learner": names, labels, slots.
std::string_view to_string(Role role);
std::optional<Role> parse_role(std::string_view text);

enum class CleanPodPolicy { kRunning, kAll, kNone };

enum class Phase { kNone, kCreated, kRunning, kSucceeded, kFailed };  // kNone: not looked at yet
std::string_view to_string(Phase phase);                              // kNone: ""
inline bool is_final(Phase phase) { return phase == Phase::kSucceeded || phase == Phase::kFailed; }

// The administrator's limit on reservationSeconds, unless --max-reservation-seconds sets another
// one.
inline constexpr int kDefaultMaxReservationSeconds = 3600;

struct RoleSpec {                 // collector or learner
  kube::SharedJson pod_template;  // PodTemplateSpec as written
  int replicas = 0;               // base replicas: part of the gang from the start
  // Capacity for this many, the base replicas counted, is planned with the gang and kept for the
  // coordinator's first requests.
  int reserved_replicas = 0;
  std::optional<int> max_replicas;
  bool operator==(const RoleSpec&) const = default;
};

struct Slot {
  int ordinal = 0;
  int incarnation = 0;
  auto operator<=>(const Slot&) const = default;
};

inline constexpr int kFirstRequestedOrdinal = 4096;
// Ordinals from here on are given out by the controller alone, those below by nervex-server: two
// programs that never ask each other give out none twice. status.continued[].
inline constexpr int kFirstContinuedOrdinal = 61'440;
// Of one job, base replicas and requests together: what a PodGroup can hold in etcd.
inline constexpr int kMaxPodsPerJob = 5'000;

// One POST's replicas of one role: a gang of its own. spec.requests.entries[].
struct RequestEntry {
  std::int64_t id = 0;  // unique in the job, counts up
  int attempt = 0;      // entries of another attempt count as absent
  Role role = Role::kCollector;
  // Quantities for requests and limits of the main container; empty: as the template has it.
  std::string cpus, gpus, memory;
  // Multi-GPU learners: GPUs of each ddp-learner pod of one learner. Empty: plain pods.
  std::vector<int> gpu_split;
  // One per replica; of multi-GPU learners one per learner (slots.h tells the pods of each).
  std::vector<Slot> slots;
  bool operator==(const RequestEntry&) const = default;
};

struct BaseChange {  // what the API did to a base replica
  int attempt = 0;   // of another attempt: counts as absent
  Role role = Role::kCollector;
  Slot slot;
  bool removed = false;
  bool operator==(const BaseChange&) const = default;
};

// A replica whose incarnations were used up goes on under another ordinal. spec.requests.moved[].
struct MovedReplica {
  int attempt = 0;  // of another attempt: counts as absent
  Role role = Role::kCollector;
  int from = 0;
  int to = 0;
  bool operator==(const MovedReplica&) const = default;
};

// Replicas with ordinals in a row, by the pod that their address names.
struct ReplicaRun {
  Role role = Role::kCollector;  // kAggregator: multi-GPU learners
  Slot first;
  int count = 1;
  bool operator==(const ReplicaRun&) const = default;
};

// A call that changed the replicas, kept for a while so that its repeat is answered with the same
// replicas and does nothing. spec.requests.calls[], in the order of their writes.
struct CallRecord {
  int attempt = 0;          // of another attempt: counts as absent
  std::string method;       // "POST", "DELETE", "POST failed"
  std::string body_hash;    // of the bytes that came
  std::string key;          // Idempotency-Key, may be empty
  std::string source;       // the caller's address, without port
  std::string writer;       // the process of nervex-server that wrote this
  std::int64_t number = 0;  // of that process's calls: with the writer unique
  SysTime time{};
  std::vector<ReplicaRun> replicas;  // that the answer names
  bool operator==(const CallRecord&) const = default;
};

// spec.requests: written by nervex-server alone.
struct Requests {
  int next_collector = kFirstRequestedOrdinal;
  int next_learner = kFirstRequestedOrdinal;
  std::int64_t next_id = 1;
  std::vector<BaseChange> base;
  std::vector<RequestEntry> entries;
  std::vector<MovedReplica> moved;
  std::vector<CallRecord> calls;
  bool operator==(const Requests&) const = default;
};

struct Spec {
  std::string group;
  std::string priority_class_name;
  CleanPodPolicy clean_pod_policy = CleanPodPolicy::kRunning;
  kube::SharedJson volumes = Json::array();
  kube::SharedJson coordinator_template;
  std::optional<RoleSpec> collector;
  std::optional<RoleSpec> learner;
  std::string aggregator;         // "", "PerJob", "OnDemand"
  int reservation_seconds = 600;  // capacity of reservedReplicas is kept so long: reserved_until()
  bool suspend = false;
  std::optional<std::int64_t> active_deadline_seconds;   // of the time that the job has its place
  std::optional<std::int64_t> schedule_timeout_seconds;  // from status.waitingSince
  std::optional<std::int64_t> start_timeout_seconds;     // from status.activeSince
  std::optional<int> backoff_limit;  // failed attempts that are followed by another
  std::optional<int> ttl_seconds_after_finished;
  Requests requests;
  bool has_requests = false;       // spec.requests is there, be it empty
  bool has_requests_next = false;  // and its member next
  bool operator==(const Spec&) const = default;
};

struct Condition {  // metav1.Condition
  std::string type;
  bool status = false;
  std::string reason;
  std::string message;
  SysTime last_transition{};
  std::int64_t observed_generation = 0;
  bool operator==(const Condition&) const = default;
};

struct RoleCounts {
  int active = 0;
  int succeeded = 0;
  int failed = 0;
  bool operator==(const RoleCounts&) const = default;
};

// How an attempt ended, kept after its pods were deleted.
struct LastAttempt {
  int attempt = 0;
  std::string reason;  // as status.reason: CoordinatorFailed, CoordinatorLost, Evicted
  std::optional<int> exit_code;
  std::string message;  // the main container's last words, at most 4 KiB
  SysTime end_time{};
  bool operator==(const LastAttempt&) const = default;
};

// Which Services give the pods of an attempt their names in DNS: one for the namespace, or one for
// each pod. kNone: not decided yet, or by a version that knew only the second.
enum class ServiceMode { kNone, kShared, kPerPod };
std::string_view to_string(ServiceMode mode);  // "", "Shared", "PerPod"

struct Status {
  Phase phase = Phase::kNone;
  std::string reason;  // why it is where it is: the Reason column
  int attempt = 0;     // 0: none yet; counted up when an attempt is over and another may come
  std::int64_t observed_generation = 0;
  // Place in the queue among jobs of one priority. Kept over retries and requeues, not over a
  // resume. In fractions of a second too.
  std::optional<SysTime> queued_since;
  // Creation, or the last resume, retry or requeue: scheduleTimeoutSeconds count from here.
  std::optional<SysTime> waiting_since;
  // The current attempt has had its place since then: a pod of its base gang was bound.
  std::optional<SysTime> active_since;
  std::int64_t active_seconds = 0;  // the same of the attempts that are over, since the last resume
  // All pods of the base gang have begun to run in the current attempt.
  std::optional<SysTime> gang_started_time;
  std::optional<SysTime> start_time;  // the coordinator first ran
  std::optional<SysTime> completion_time;
  int failed_attempts = 0;                   // those that count against backoffLimit
  std::optional<SysTime> next_attempt_time;  // the attempt begins no sooner than this
  std::optional<LastAttempt> last_attempt;   // none: the first one goes on
  int ready = 0;                             // pods ready
  int desired = 0;                           // pods wanted; together the Ready column, "3/4"
  RoleCounts coordinator, aggregator, collector, learner;
  // Collectors and learners that finished, so that deleting the pod neither revives nor uncounts
  // them: role/ordinal/incarnation with how they ended.
  struct Ended {
    Role role = Role::kCollector;
    Slot slot;
    bool succeeded = false;
    bool operator==(const Ended&) const = default;
  };
  std::vector<Ended> ended;
  // Collectors and learners that the controller itself replaced, or that a lowered `replicas` took
  // away: the incarnation that a slot has at least (slots.h). One per slot of the current attempt.
  struct Replaced {
    Role role = Role::kCollector;
    Slot slot;
    bool operator==(const Replaced&) const = default;
  };
  std::vector<Replaced> replaced;
  // A replica that has used up the names of its ordinal stays the same slot, and its next
  // incarnations have the names of a fresh ordinal (names.h). Of the current attempt.
  struct Continued {
    Role role = Role::kCollector;  // kCollector or kLearner
    Slot from;                     // the first slot of the replica that is named after `ordinal`
    int ordinal = 0;
    int count = 1;  // ordinals in a row: one for each ddp-learner of a multi-GPU learner
    bool operator==(const Continued&) const = default;
  };
  std::vector<Continued> continued;
  // The next fresh ordinal: never given out twice in a job.
  int next_continued_collector = kFirstContinuedOrdinal;
  int next_continued_learner = kFirstContinuedOrdinal;
  // Gangs of the current attempt, but for the base one, and multi-GPU learners, of which the API
  // server refused a pod for good and that were not whole since: taken back, and planned again not
  // before `requeue_at`.
  struct RequeuedGang {
    std::string name;  // "request-7"; as in the PodGroup
    int count = 0;     // how often it was taken back
    SysTime requeue_at{};
    // Only the multi-GPU learner of that ordinal was: the rest of its gang runs.
    std::optional<int> learner = std::nullopt;
    bool operator==(const RequeuedGang&) const = default;
  };
  std::vector<RequeuedGang> requeued_gangs;
  // Which placements have had a pod? Of each gang of the PodGroup of this uid the number up to
  // which every current placement was seen created. Numbers never come again (gang/pod_group.h), so
  // that one up to it without a pod has lost it, and one above it may never have had any.
  struct CreatedThrough {
    std::string pod_group_uid;                  // "": none yet
    std::map<std::string, std::int64_t> gangs;  // by name; none: no placement
    bool operator==(const CreatedThrough&) const = default;
  };
  CreatedThrough created_through;
  // The highest spec.requests.next seen: nothing in the spec, if damaged, brings ordinals back.
  int next_collector = kFirstRequestedOrdinal;
  int next_learner = kFirstRequestedOrdinal;
  ServiceMode services = ServiceMode::kNone;  // of the current attempt
  // The administrator's limit on reservationSeconds, if spec.reservationSeconds is above it.
  std::optional<int> max_reservation_seconds;
  int naming_version = 0;  // 0: as 1, whatever names.h does today
  std::string selector;    // of the scale subresource: the collectors' labels
  std::vector<Condition> conditions;
  bool operator==(const Status&) const = default;
};

struct Job {
  kube::Meta meta;
  Spec spec;
  Status status;
  bool operator==(const Job&) const = default;
};

// As the API has it; defaults are filled in where a field is absent. kInvalid names the field.
Result<Job> decode_job(const Json& object);
// The same of its JSON text.
Result<Job> parse_job(std::string_view json);
Json encode_status(const Status& status);
Json encode_requests(const Requests& requests);

// What the job says of `role`, kCollector or kLearner; nullopt: it has no such template.
inline const std::optional<RoleSpec>& role_spec(const Spec& spec, Role role) {
  return role == Role::kCollector ? spec.collector : spec.learner;
}

// A condition: spec.requests vanished from the job. The controller sets it, and the server minds
// it.
inline constexpr std::string_view kRequestsLost = "RequestsLost";

// spec.reservationSeconds, or the administrator's limit on it if that is less.
int reservation_seconds(const Job& job);
// When what is left of the capacity that the attempt has reserved (reservedReplicas) is given back:
// reservation_seconds() after its coordinator began to run. nullopt: it does not run yet, or any
// more.
std::optional<SysTime> reserved_until(const Job& job);

const Condition* find_condition(const Status& status, std::string_view type);
// Sets or adds the condition; last_transition changes only when its status does.
void set_condition(Status& status, Condition condition);

}  // namespace nervex::job
