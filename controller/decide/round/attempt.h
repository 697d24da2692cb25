// controller/decide/round/attempt.h - which of the observed objects belong to the job's current
// attempt?
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/decide/round/observed.h"
#include "gang/pod_group.h"
#include "gang/slot.h"
#include "job/counts.h"
#include "job/types.h"

namespace nervex::controller {

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
const AttemptPod* find_coordinator(const Attempt& attempt);

// The gang's status, if it says, of the spec as it is now, that the gang could not be made whole
// again within the healing deadline; else null.
const gang::GangStatus* gang_given_up(const Attempt& attempt, std::string_view gang);

// The base gang has begun to be bound: the status says so, or, if a user emptied it, a
// pod does.
bool is_base_committed(const Attempt& attempt);

// Of ordinal 0: the job's own. One that is being deleted counts.
bool has_aggregator_pod(const Attempt& attempt, int ordinal);

// The pod is of the PodGroup's attempt.
bool is_of_group(const kube::Pod& pod, const gang::PodGroup& group);
// It is that attempt's coordinator.
bool is_coordinator(const kube::Pod& pod, const gang::PodGroup& group);

inline gang::SlotId slot_id(job::Slot slot) { return {slot.ordinal, slot.incarnation}; }
inline job::Slot job_slot(gang::SlotId slot) { return {slot.ordinal, slot.incarnation}; }

// -- did what nervex-server wrote into the job's spec vanish?

// True from when spec.requests counts fewer ordinals than were ever seen (status.next) until the
// attempt ends: the entries are lost even when the next request brings the counters back. While it
// is true nothing may be deleted, or taken out of the PodGroup, because a request for it is absent:
// the coordinator still works with those pods.
bool requests_lost(const job::Job& job);

// The counters alone: spec.requests is behind the status.
bool is_behind_status(const job::Job& job);

// The PodGroup's spec has the pod's slot in that gang.
bool is_of_gang(const AttemptPod& member, const gang::PodGroup& group, std::string_view gang);

}  // namespace nervex::controller
