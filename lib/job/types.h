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

enum class Phase { kNone, kCreated, kRunning, kSucceeded, kFailed };  // kNone: not seen yet
std::string_view to_string(Phase phase);                              // kNone: ""
inline bool is_final(Phase phase) { return phase == Phase::kSucceeded || phase == Phase::kFailed; }

// Default administrator limit on reservationSeconds; --max-reservation-seconds sets another.
inline constexpr int kDefaultMaxReservationSeconds = 3600;

// Nodes with one value of the label `level` are near each other: a rack, a zone.
struct Topology {
  std::string level;
  bool is_required = true;  // policy Required; false: Preferred
  bool operator==(const Topology&) const = default;
};

struct RoleSpec {                 // collector or learner
  kube::SharedJson pod_template;  // PodTemplateSpec as written
  int replicas = 0;               // base replicas: part of the gang from the start
  // Capacity for this many replicas, base replicas included, is planned with the gang and kept for
  // the coordinator's first requests.
  int reserved_replicas = 0;
  std::optional<int> max_replicas;
  std::optional<Topology> topology{};  // of all pods of the role
  // Values of the node label --node-class-label of nervex-extender, in order of preference. Empty:
  // any node.
  std::vector<std::string> node_classes{};
  bool operator==(const RoleSpec&) const = default;
};

struct Slot {
  int ordinal = 0;
  int incarnation = 0;
  auto operator<=>(const Slot&) const = default;
};

inline constexpr int kFirstRequestedOrdinal = 4096;
// Ordinals from here on are assigned only by the controller, lower ones by nervex-server: so two
// programs that do not communicate never assign the same one. status.continued[].
inline constexpr int kFirstContinuedOrdinal = 61'440;
// Per job, base replicas and requests together: what a PodGroup can hold in etcd.
inline constexpr int kMaxPodsPerJob = 5'000;

// One POST's replicas of one role, a gang of its own. spec.requests.entries[].
struct RequestEntry {
  std::int64_t id = 0;  // unique in the job, counts up
  int attempt = 0;      // entries of another attempt are ignored
  Role role = Role::kCollector;
  std::optional<SysTime> requested_at{};
  // Quantities for requests and limits of the main container; empty: the template's.
  std::string cpus, gpus, memory;
  // Multi-GPU learners: GPUs of each ddp-learner pod of one learner. Empty: plain pods.
  std::vector<int> gpu_split;
  // One per replica; for multi-GPU learners one per learner (slots.h lists the pods of each).
  std::vector<Slot> slots;
  bool operator==(const RequestEntry&) const = default;
};

struct BaseChange {  // an API change to a base replica
  int attempt = 0;   // ignored in another attempt
  Role role = Role::kCollector;
  Slot slot;
  bool removed = false;
  // A removal lasts while the role's `replicas` has the value that it had then (is_removed() of
  // slots.h). id: unique in the job, counts up with RequestEntry::id. 0: it lasts for the attempt.
  std::int64_t id = 0;
  int replicas = 0;
  bool operator==(const BaseChange&) const = default;
};

// A replica without incarnations left, under another ordinal. spec.requests.moved[].
struct MovedReplica {
  int attempt = 0;  // ignored in another attempt
  Role role = Role::kCollector;
  int from = 0;
  int to = 0;
  bool operator==(const MovedReplica&) const = default;
};

// Replicas with consecutive ordinals, by the pod in their address.
struct ReplicaRun {
  Role role = Role::kCollector;  // kAggregator: multi-GPU learners
  Slot first;
  int count = 1;
  bool operator==(const ReplicaRun&) const = default;
};

// A call that changed the replicas. Kept for a while, so that a repeated call gets the same
// replicas and changes nothing. spec.requests.calls[], in write order.
struct CallRecord {
  int attempt = 0;          // ignored in another attempt
  std::string method;       // "POST", "DELETE", "POST failed"
  std::string body_hash;    // of the received bytes
  std::string key;          // Idempotency-Key, may be empty
  std::string source;       // the caller's address, without port
  std::string writer;       // the nervex-server process that wrote this
  std::int64_t number = 0;  // counter of that process; unique with the writer
  SysTime time{};
  std::vector<ReplicaRun> replicas;  // named in the answer
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
  std::string queue;  // empty: the namespace's
  CleanPodPolicy clean_pod_policy = CleanPodPolicy::kRunning;
  kube::SharedJson volumes = Json::array();
  kube::SharedJson coordinator_template;
  std::optional<RoleSpec> collector;
  std::optional<RoleSpec> learner;
  std::optional<Topology> topology;  // of all pods of the job
  std::string aggregator;            // "", "PerJob", "OnDemand"
  int reservation_seconds = 600;  // how long capacity of reservedReplicas is kept: reserved_until()
  bool suspend = false;
  bool preemptible = false;  // reservations of other jobs may take its nodes back
  std::optional<std::int64_t> active_deadline_seconds;   // of the time with a placement
  std::optional<std::int64_t> schedule_timeout_seconds;  // from status.waitingSince
  std::optional<std::int64_t> start_timeout_seconds;     // from status.activeSince
  std::optional<int> backoff_limit;  // maximum number of retries after failed attempts
  std::optional<int> ttl_seconds_after_finished;
  Requests requests;
  bool has_requests = false;       // spec.requests is present, even if empty
  bool has_requests_next = false;  // so is its member next
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

// How an attempt ended; kept after its pods are deleted.
struct LastAttempt {
  int attempt = 0;
  std::string reason;  // as status.reason: CoordinatorFailed, CoordinatorLost, Evicted
  std::optional<int> exit_code;
  std::string message;  // end of the main container's message, at most 4 KiB
  SysTime end_time{};
  bool operator==(const LastAttempt&) const = default;
};

// How the pods of an attempt get DNS names: one Service per namespace, or one per pod. kNone:
// undecided, or set by a version that knew only kPerPod.
enum class ServiceMode { kNone, kShared, kPerPod };
std::string_view to_string(ServiceMode mode);  // "", "Shared", "PerPod"

// As in the PodGroup's status (gang/pod_group.h).
struct QueuePlace {
  std::string name;  // empty: the root, or unknown
  int position = 0;  // of a waiting job, coarse; 0: it does not wait, or unknown
  bool operator==(const QueuePlace&) const = default;
};

struct Status {
  Phase phase = Phase::kNone;
  std::string reason;  // why it is in this phase: the Reason column
  int attempt = 1;     // incremented when an attempt is over and another may follow
  std::int64_t observed_generation = 0;
  // Position in the queue among jobs of equal priority, with fractions of a second. Kept over
  // retries and requeues, not over a resume.
  std::optional<SysTime> queued_since;
  QueuePlace queue;
  // Creation, or the last resume, retry or requeue: scheduleTimeoutSeconds starts here.
  std::optional<SysTime> waiting_since;
  // Since when the current attempt has had a placement: a pod of its base gang was bound.
  std::optional<SysTime> active_since;
  std::int64_t active_seconds = 0;  // active time of earlier attempts since the last resume
  // When all pods of the base gang had started to run in the current attempt.
  std::optional<SysTime> gang_started_time;
  std::optional<SysTime> start_time;  // first time that the coordinator ran
  std::optional<SysTime> completion_time;
  int failed_attempts = 0;                   // those that count against backoffLimit
  std::optional<SysTime> next_attempt_time;  // earliest start of the next attempt
  std::optional<LastAttempt> last_attempt;   // none: the first attempt is still current
  // Attempts in a row that the cluster ended soon after their gang had got its nodes.
  int disrupted_attempts = 0;
  // Nodes where pods of earlier attempts were refused, as in the PodGroup (gang/avoided_nodes.h).
  struct AvoidedNode {
    Role role = Role::kCollector;
    std::string node;
    int at_most = 0;
    int times = 1;
    SysTime until{};
    bool operator==(const AvoidedNode&) const = default;
  };
  std::vector<AvoidedNode> avoid;
  int ready = 0;    // pods ready
  int desired = 0;  // pods wanted; together the Ready column, "3/4"
  RoleCounts coordinator, aggregator, collector, learner;
  // Collectors and learners that finished: role/ordinal/incarnation and how they ended. Deleting
  // the pod neither revives nor uncounts them.
  struct Ended {
    Role role = Role::kCollector;
    Slot slot;
    bool succeeded = false;
    bool operator==(const Ended&) const = default;
  };
  std::vector<Ended> ended;
  // Collectors and learners replaced by the controller or removed by a lower `replicas`: the
  // minimum incarnation of a slot (slots.h). One per slot of the current attempt.
  struct Replaced {
    Role role = Role::kCollector;
    Slot slot;
    bool operator==(const Replaced&) const = default;
  };
  std::vector<Replaced> replaced;
  // A replica that has used all names of its ordinal keeps its slot; its next incarnations get
  // names of a fresh ordinal (names.h). Of the current attempt.
  struct Continued {
    Role role = Role::kCollector;  // kCollector or kLearner
    Slot from;                     // the replica's first slot that is named after `ordinal`
    int ordinal = 0;
    int count = 1;  // consecutive ordinals: one for each ddp-learner of a multi-GPU learner
    bool operator==(const Continued&) const = default;
  };
  std::vector<Continued> continued;
  // The next fresh ordinal. Never assigned twice in a job.
  int next_continued_collector = kFirstContinuedOrdinal;
  int next_continued_learner = kFirstContinuedOrdinal;
  // Gangs of the current attempt other than the base gang, and multi-GPU learners, that were
  // requeued because the API server permanently refused one of their pods, and that were not
  // complete since. Planned again at `requeue_at` at the earliest.
  struct RequeuedGang {
    std::string name;  // "request-7"; as in the PodGroup
    int count = 0;     // number of requeues
    SysTime requeue_at{};
    // Set: only the multi-GPU learner of that ordinal was requeued; the rest of its gang runs.
    std::optional<int> learner = std::nullopt;
    // Set for added base replicas. While the gang backs off, the PodGroup does not have it.
    struct AddedReplicas {
      Role role = Role::kCollector;
      int first_ordinal = 0;
      std::optional<SysTime> queued_since{};  // as in the PodGroup; not set: by an older version
      bool operator==(const AddedReplicas&) const = default;
    };
    std::optional<AddedReplicas> added = std::nullopt;
    std::string reason{};  // FailedCreate, or the reason with which the extender released it
    bool operator==(const RequeuedGang&) const = default;
  };
  std::vector<RequeuedGang> requeued_gangs;
  // Which placements have had a pod? For each gang of the PodGroup with this uid, the number up to
  // which every current placement was seen created. Numbers are never reused (gang/pod_group.h): a
  // placement up to it without a pod has lost its pod, one above it may never have had a pod.
  struct CreatedThrough {
    std::string pod_group_uid;                  // "": none yet
    std::map<std::string, std::int64_t> gangs;  // by name; none: no placement
    bool operator==(const CreatedThrough&) const = default;
  };
  CreatedThrough created_through;
  // The highest spec.requests.next seen: a damaged spec cannot make ordinals be reused.
  int next_collector = kFirstRequestedOrdinal;
  int next_learner = kFirstRequestedOrdinal;
  ServiceMode services = ServiceMode::kNone;  // of the current attempt
  // The administrator's limit on reservationSeconds, if spec.reservationSeconds exceeds it.
  std::optional<int> max_reservation_seconds;
  int naming_version = 0;  // 0: same as 1, independent of the current names.h
  // Removals of base replicas up to this id are over: `replicas` was changed since (slots.h).
  std::int64_t returned_collector = 0;
  std::int64_t returned_learner = 0;
  std::string selector;     // of the scale subresource: labels of the base collectors
  int base_collectors = 0;  // of the scale subresource: those of collector.active
  std::vector<Condition> conditions;
  // Fields of the stored status that only a newer version knows; null: none. They are written back,
  // because the status is written whole. (Not within objects and lists.)
  kube::SharedJson unknown;
  bool operator==(const Status&) const = default;
};

struct Job {
  kube::Meta meta;
  Spec spec;
  Status status;
  // Bytes of the templates and volumes that a cache has left out (job/kept.h); 0: none.
  std::size_t left_out_bytes = 0;
  bool operator==(const Job&) const = default;
};

// Applies defaults to absent fields. kInvalid names the field.
Result<Job> decode_job(const Json& object);
// The same from JSON text.
Result<Job> parse_job(std::string_view json);
Json encode_status(const Status& status);
Json encode_requests(const Requests& requests);

// The job's spec of `role`, kCollector or kLearner; nullopt: no such template.
inline const std::optional<RoleSpec>& role_spec(const Spec& spec, Role role) {
  return role == Role::kCollector ? spec.collector : spec.learner;
}

// Condition: spec.requests vanished from the job. Set by the controller, read by the server.
inline constexpr std::string_view kRequestsLost = "RequestsLost";

// spec.reservationSeconds, at most the administrator's limit.
int reservation_seconds(const Job& job);
// When the rest of the attempt's reserved capacity (reservedReplicas) is given back:
// reservation_seconds() after its coordinator began to run. nullopt: the coordinator does not run.
std::optional<SysTime> reserved_until(const Job& job);

const Condition* find_condition(const Status& status, std::string_view type);
// Sets or adds the condition; last_transition changes only with its status.
void set_condition(Status& status, Condition condition);

}  // namespace nervex::job
