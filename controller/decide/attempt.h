// controller/decide/attempt.h - which of the observed objects belong to the job's current attempt?
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/decide/observed.h"
#include "gang/pod_group.h"
#include "gang/slot.h"
#include "job/counts.h"
#include "job/pod_manifest.h"
#include "job/slots.h"
#include "job/types.h"

namespace nervex::controller {

struct Round;

// By role and ordinal.
using SlotNumbers = std::set<std::pair<job::Role, int>>;

struct AttemptPod {
  const kube::Pod* pod = nullptr;
  job::Role role = job::Role::kCollector;
  job::Slot slot;
  std::int64_t placement = 0;
  job::PodState state = job::PodState::kPending;
};

// Borrows from the Observed it was made from.
struct Attempt {
  const gang::PodGroup* group = nullptr;  // null: not made yet, or being deleted
  bool name_is_held = false;              // by a PodGroup of the job that is being deleted
  // The pods annotated with the group's uid, with roles and slots that can be read.
  std::vector<AttemptPod> pods;
  bool has_aggregator = false;  // as the group says; before there is one, as it would be made
};

Attempt current_attempt(const Observed& seen);

// Null if there is none. One that is being deleted counts.
const AttemptPod* coordinator_of(const Attempt& attempt);

// The gang's status, if it says, of the spec as it is now, that the gang could not be made whole
// again within the healing deadline; else null.
const gang::GangStatus* gang_given_up(const Attempt& attempt, std::string_view gang);

// The base gang has begun to be bound: the status says so, or, should somebody have emptied it, a
// pod does.
bool is_base_committed(const Attempt& attempt);

// Of ordinal 0: the job's own. One that is being deleted counts.
bool has_aggregator_pod(const Attempt& attempt, int ordinal);

// Does the job get an aggregator from the start, given whether an AggregatorConfig exists?
bool wants_aggregator(const job::Spec& spec, bool config_exists);
// The job must not start before an AggregatorConfig exists.
bool waits_for_aggregator(const job::Spec& spec, bool config_exists);

// What templates are rendered with.
job::PodContext pod_context(const Observed& seen, const Attempt& attempt);

// The job's place in the queue: status.queuedSince, or what that is at first. A retry or requeue
// keeps it, a resume ends it. What a version without that field has queued keeps what the current
// attempt's PodGroup says; null: there is none.
SysTime place_in_queue(const job::Job& job, const gang::PodGroup* group);
// Of a job that is seen for the first time: its creation. metadata.creationTimestamp has whole
// seconds; within that second jobs are ordered by when the controller saw them. Those that it did
// not see in that second come last, by a hash of their UIDs, so that no namespace or name is first.
SysTime first_place_in_queue(const kube::Meta& meta, SysTime now);

// PodGroup and pods are of this job and this very attempt.
bool is_of_group(const kube::Pod& pod, const gang::PodGroup& group);

inline gang::SlotId slot_id(job::Slot slot) { return {slot.ordinal, slot.incarnation}; }
inline job::Slot job_slot(gang::SlotId slot) { return {slot.ordinal, slot.incarnation}; }

// -- which pods does the job want, and which of them have places?

// One pod that the job wants in its current attempt. Borrows from the job.
struct WantedSlot {
  job::Role role = job::Role::kCoordinator;
  job::Slot slot;
  job::Replica replica;  // that it is a pod of; of coordinator and aggregator the slot itself
  int part = 0;          // of a ddp-learner: which pod of its learner, from 0
  // It has finished, or another pod of its replica has: nobody makes its pod again.
  bool is_over = false;

  const job::RequestEntry* entry() const { return replica.entry; }  // null: not requested
};

// Coordinator, aggregator, then collectors and learners by ordinal. Borrows from the job.
class WantedSlots {
 public:
  WantedSlots(const job::Job& job, bool has_aggregator);

  // Sets is_over of the slots whose replica has a pod among `ended`, and of no other.
  void mark_over(const std::vector<job::Status::Ended>& ended);

  const std::vector<WantedSlot>& all() const& { return slots_; }
  // The slot of that number, with whatever incarnation it has now; null: not wanted (any more).
  const WantedSlot* find(job::Role role, int ordinal) const;
  // The same, if it has this very incarnation.
  const WantedSlot* find(job::Role role, job::Slot slot) const;

 private:
  void add(const WantedSlot& slot);
  void add_replicas(const job::Job& job, job::Role role);
  std::vector<WantedSlot> slots_;
  std::map<std::pair<job::Role, int>, std::size_t> by_number_;
};

// A wanted slot that has a place. Borrows from WantedSlots and the PodGroup.
struct WantedPod {
  std::string name;
  job::Role role = job::Role::kCollector;
  job::Slot slot;
  const job::RequestEntry* entry = nullptr;  // null: not requested
  const gang::Placement* placement = nullptr;
  bool is_over = false;
  bool is_of_base = false;  // of the gang that the job starts with
};

// Of the gangs that are planned, by role and slot. Borrows from the PodGroup.
using Placements = std::map<gang::SlotKey, const gang::Placement*>;
Placements planned_placements(const gang::PodGroupStatus& status);
// Of all gangs, whatever became of their plans.
Placements all_placements(const gang::PodGroupStatus& status);

struct Wanted {
  std::vector<WantedPod> pods;  // in the order of the slots
  bool base_is_placed = true;   // every slot of the base gang is among them
};

// The wanted slots that the plan has a place for. Cost: slots x log(slots).
Wanted wanted_pods(const job::Job& job, const WantedSlots& slots, const gang::PodGroup& group,
                   const Placements& placements);

// -- did what nervex-server wrote into the job's spec vanish?

// True from when spec.requests counts fewer ordinals than were ever seen (status.next) until the
// attempt ends: the entries are lost even when the next request brings the counters back. While it
// is true nothing may be deleted, or taken out of the PodGroup, because a request for it is absent:
// the coordinator still works with those pods.
bool requests_lost(const job::Job& job);

// The counters alone: spec.requests is behind the status.
bool is_behind_status(const job::Job& job);

// The PodGroup's spec has the pod's slot in that gang.
bool is_of_gang(const AttemptPod& of, const gang::PodGroup& group, std::string_view gang);

}  // namespace nervex::controller
