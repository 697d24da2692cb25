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
  const gang::PodGroup* group = nullptr;  // null: not created yet, or being deleted
  bool name_is_held = false;              // a PodGroup of the job that is being deleted holds it
  // Pods annotated with the group's uid and a readable role and slot.
  std::vector<AttemptPod> pods;
  bool has_aggregator = false;  // from the group; without one, as it would be created
};

Attempt current_attempt(const Observed& seen);

// Null: none. Includes one that is being deleted.
const AttemptPod* find_coordinator(const Attempt& attempt);
// The pod of the job's own aggregator; null: there is none.
const AttemptPod* find_own_aggregator(const Attempt& attempt);

// The gang's status, if it says for the current spec that the extender has given the gang up
// (gang::is_released()); else null.
const gang::GangStatus* find_released_gang(const Attempt& attempt, std::string_view gang);

// A pod of the base gang was bound, according to the status or, if a user cleared it, to a pod.
bool is_base_committed(const Attempt& attempt);

// Ordinal 0: the job's own. Includes one that is being deleted.
bool has_aggregator_pod(const Attempt& attempt, int ordinal);

// The pod belongs to the PodGroup's attempt.
bool is_of_group(const kube::Pod& pod, const gang::PodGroup& group);
// The pod is that attempt's coordinator.
bool is_coordinator(const kube::Pod& pod, const gang::PodGroup& group);

inline gang::SlotId slot_id(job::Slot slot) { return {slot.ordinal, slot.incarnation}; }
inline job::Slot job_slot(gang::SlotId slot) { return {slot.ordinal, slot.incarnation}; }

// -- was part of nervex-server's data in the job's spec lost?

// True from when spec.requests counts fewer ordinals than ever seen (status.next) until the attempt
// ends: the entries are lost even if the next request restores the counters. Meanwhile no pod is
// deleted or removed from the PodGroup because its request is missing: the coordinator still works
// with those pods.
bool requests_lost(const job::Job& job);

// Compares the counters only: spec.requests is behind the status.
bool is_behind_status(const job::Job& job);

// The PodGroup's spec has the pod's slot in that gang.
bool is_of_gang(const AttemptPod& member, const gang::PodGroup& group, std::string_view name);

}  // namespace nervex::controller
