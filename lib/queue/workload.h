// queue/workload.h - what is queued: one gang, of this suite or of another operator. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "gang/pod_group.h"
#include "kube/model/foreign_pod_group.h"
#include "kube/model/resources.h"
#include "queue/slot_use.h"

namespace nervex::queue {

struct Workload {
  enum class State {
    kWaiting,  // has no plan
    kPlanned,  // has a node for every pod
    kRunning,  // has bound pods, or is committed to its plan
  };
  std::string id;  // unique: PodGroup UID and gang, or UID of the other operator's PodGroup
  // nullopt: a gang of another operator, or pods whose PodGroup was deleted.
  std::optional<gang::GangKind> kind;
  std::string ns;
  std::string name;  // of the PodGroup
  int priority = 0;
  SysTime queued_since{};
  kube::Resources requests;  // of all its slots: slot_use.h
  State state = State::kWaiting;
  std::string queue{};                  // name; empty: the root
  std::string user{};                   // who submitted the job; empty: unknown
  std::optional<SysTime> started_at{};  // when it was committed to its plan; nullopt: unknown
  // Can be reclaimed without ending the job: counts against limits, not against quota and share.
  bool is_elastic = false;
  // Of pods that have nodes, by the nodes' class. Pods on nodes without a class are left out.
  std::map<std::string, kube::Resources, std::less<>> class_requests{};
  int position = 0;  // of the gang in its PodGroup: of equal ones the first is served first
  bool never_preempts = false;  // preemptionPolicy of its PriorityClass
  bool is_preemptible = false;  // reservations of others may reclaim the nodes it started on
  // How long its job may keep its nodes, time to end included, from the start of its base gang.
  // nullopt: without bound.
  std::optional<std::chrono::seconds> longest_run{};
  std::optional<SysTime> job_started_at{};  // started_at of the base gang of its job
  // When its job, which runs, is stopped at its limit; nullopt: it waits, or has no limit.
  std::optional<SysTime> job_end{};
  // How long the pods of its job may take to end; nullopt: unknown.
  std::optional<std::chrono::seconds> grace{};
  bool operator==(const Workload&) const = default;
};

// The gang at this index of PodGroupSpec::gangs. As list_workloads().
Workload make_workload(const gang::PodGroup& group, std::size_t index,
                       const OtherUses* uses = nullptr);
// The gangs of a PodGroup, in the order of its spec. `uses`: of its slots; may be null. Cost: its
// sets and `uses`, not its pods. The queue is that of its status, and so is the queue's limit in
// longest_run: in a job that waits it is the one of an earlier look. Leaves out what a PodGroup
// does not say: classes.
std::vector<Workload> list_workloads(const gang::PodGroup& group, const OtherUses* uses = nullptr);

// Longer limits, and times to end, bound nothing that matters: times with them could overflow.
inline constexpr std::chrono::seconds kLongestLimit{10LL * 366 * 24 * 3600};
// A job that goes on for a shorter time gains nothing that is worth what others lose for it.
inline constexpr std::chrono::minutes kShortestGain{5};
// What the workload gets at that time is of use: its job goes on for long enough. True for a base
// gang, whose job starts with it.
bool gains_enough(const Workload& workload, SysTime start);

// Workload::longest_run of the gangs of a job in a queue with that limit, of which the time that
// earlier attempts were active is taken off.
std::optional<std::chrono::seconds> longest_run(const gang::PodGroupSpec& spec,
                                                std::optional<std::int64_t> max_runtime_seconds);
// When the workload gives its nodes back at the latest: its job has ended then, and so have its
// pods, as long as nervex-controller and the kubelets run. nullopt: unknown, or without bound.
std::optional<SysTime> latest_end(const Workload& workload);
// The same of one that starts at this time: a request ends with a job that may run already.
std::optional<SysTime> latest_end(const Workload& workload, SysTime start);

// Sets class_requests from the gang's placements and reserved capacity. Cost: its slots.
void count_classes(Workload& workload, const gang::PodGroup& group, const OtherUses* uses,
                   const FindClass& find_class);

// A gang of another operator. `priority` and `requests` come from its existing pods.
Workload make_workload(const kube::ForeignPodGroup& group, int priority, kube::Resources requests,
                       Workload::State state);

}  // namespace nervex::queue
