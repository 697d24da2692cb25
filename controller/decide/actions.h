// controller/decide/actions.h - what can be done for a job? Actions as values; act/perform.h
// carries them out.
#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "job/types.h"
#include "kube/events.h"
#include "kube/model/json.h"

namespace nervex::controller {

struct CreatePodGroup {
  Json manifest;
  std::int64_t pods = 0;         // that it asks for
  bool follows_attempt = false;  // it gets them also beyond the limit
  bool operator==(const CreatePodGroup&) const = default;
};
// Changes the spec of exactly this version of the PodGroup.
struct PatchPodGroup {
  std::string name;
  std::string uid;
  std::string resource_version;
  Json spec;                     // a merge patch
  std::int64_t pods = 0;         // that it asks for then
  bool is_at_pod_limit = false;  // Round::exceeds_pod_limit
  // Removes a slot or raises its incarnation: only if the live job agrees (confirm_removals).
  bool removes_slots = false;
  bool operator==(const PatchPodGroup&) const = default;
};
// Creations of one action run in parallel; the next action begins when all have succeeded. Names
// follow from job, role and slot, so a repeated creation finds the object of the first one.
struct CreateServices {
  std::vector<Json> manifests;
  bool operator==(const CreateServices&) const = default;
};
// The namespace's Service: the controller's, owned by no job (services.h).
struct CreateSharedService {
  Json manifest;
  bool operator==(const CreateSharedService&) const = default;
};
// Gives exactly this version of the Service the spec of the manifest.
struct UpdateSharedService {
  std::string uid;
  std::string resource_version;
  Json manifest;
  bool operator==(const UpdateSharedService&) const = default;
};
struct CreatePods {
  std::vector<Json> manifests;
  bool operator==(const CreatePods&) const = default;
};
// Asks the API server: stops the following actions while an unfinished pod of an earlier
// incarnation or attempt of the job occupies one of these slots.
struct ConfirmFree {
  std::string pod_group_uid;                           // of the current attempt
  std::vector<std::pair<job::Role, job::Slot>> slots;  // to get a pod
  bool operator==(const ConfirmFree&) const = default;
};
struct Target {
  std::string name;
  std::string uid;                 // a precondition, so a namesake created meanwhile survives
  bool at_once = false;            // the pod's node is lost: no kubelet can end it
  std::string resource_version{};  // if not empty: only this version
  std::optional<std::chrono::seconds> grace{};  // not set: the object's own
  bool operator==(const Target&) const = default;
};
struct DeletePodGroups {
  std::vector<Target> targets;
  bool operator==(const DeletePodGroups&) const = default;
};
struct DeletePods {
  std::vector<Target> targets;
  bool operator==(const DeletePods&) const = default;
};
// Removes the tracking finalizer from pods whose ends are recorded; pods being deleted vanish then.
struct ReleasePods {
  std::vector<Target> targets;
  bool operator==(const ReleasePods&) const = default;
};
struct DeleteServices {
  std::vector<Target> targets;
  bool operator==(const DeleteServices&) const = default;
};
// For the /status subresource, on exactly the observed version of the job.
struct UpdateStatus {
  job::Status status;
  // An attempt or a gang ends because it has not started: only if live objects say so, too
  // (read_live_attempt).
  bool ends_unstarted = false;
  bool operator==(const UpdateStatus&) const = default;
};
// Deletes the job, in exactly the observed version.
struct DeleteJob {
  bool operator==(const DeleteJob&) const = default;
};
struct RecordEvent {
  kube::Event event;
  bool operator==(const RecordEvent&) const = default;
};

inline RecordEvent normal_event(std::string_view reason, std::string message) {
  return {{kube::EventType::kNormal, std::string(reason), std::move(message)}};
}
inline RecordEvent warning_event(std::string_view reason, std::string message) {
  return {{kube::EventType::kWarning, std::string(reason), std::move(message)}};
}

// Asks for a dry run of one pod of each role, later and on another thread. Observed::dry_run has
// the answer (pod_dry_run.h).
struct DryRunPods {
  std::string subject;  // of the question
  SysTime time{};
  bool operator==(const DryRunPods&) const = default;
};

using Action =
    std::variant<CreatePodGroup, PatchPodGroup, CreateServices, CreateSharedService,
                 UpdateSharedService, CreatePods, ConfirmFree, DeletePodGroups, DeletePods,
                 ReleasePods, DeleteServices, UpdateStatus, DeleteJob, RecordEvent, DryRunPods>;
using Actions = std::vector<Action>;

inline void append(Actions more, Actions& actions) {
  actions.insert(actions.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

}  // namespace nervex::controller
