// controller/decide/actions.h - what can be done for a job? Actions as values; act/perform.h
// carries them out.
#pragma once

#include <iterator>
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
  bool operator==(const CreatePodGroup&) const = default;
};
// Changes the spec of exactly this version of the PodGroup.
struct PatchPodGroup {
  std::string name;
  std::string uid;
  std::string resource_version;
  Json spec;  // a merge patch
  // A slot leaves, or gets another incarnation: only if the live job agrees (confirm_removals).
  bool removes_slots = false;
  bool operator==(const PatchPodGroup&) const = default;
};
// Creations of one action are written in parallel; the next action begins when all have succeeded.
// Names follow from job, role and slot, so a repeated creation meets what the first one made.
struct CreateServices {
  std::vector<Json> manifests;
  bool operator==(const CreateServices&) const = default;
};
// The namespace's Service: ours, and no job's (services.h).
struct CreateSharedService {
  Json manifest;
  bool operator==(const CreateSharedService&) const = default;
};
// Gives exactly this version of it the spec of the manifest.
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
// Asks the API server itself: while a pod of the job that has not finished fills one of these
// slots, of an earlier incarnation or attempt, nothing that comes after this is done.
struct ConfirmFree {
  std::string pod_group_uid;                           // of the current attempt
  std::vector<std::pair<job::Role, job::Slot>> slots;  // that are to get a pod
  bool operator==(const ConfirmFree&) const = default;
};
struct Target {
  std::string name;
  std::string uid;       // sent as a precondition, so a namesake created meanwhile survives
  bool at_once = false;  // a pod whose node is lost: no kubelet is there to end it
  std::string resource_version{};  // if not empty: only this version of it
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
// Removes the tracking finalizer from pods whose ends are recorded: those that are being deleted go
// then.
struct ReleasePods {
  std::vector<Target> targets;
  bool operator==(const ReleasePods&) const = default;
};
struct DeleteServices {
  std::vector<Target> targets;
  bool operator==(const DeleteServices&) const = default;
};
// For the /status subresource, on exactly the version of the job that was observed.
struct UpdateStatus {
  job::Status status;
  bool operator==(const UpdateStatus&) const = default;
};
// The job itself, in exactly the version that was observed.
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

// Has one pod of each role created in a dry run, some time later and by another thread. The answer
// comes with Observed::dry_run (pod_dry_run.h).
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
