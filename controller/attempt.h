// controller/attempt.h - which of the observed objects belong to the job's current attempt?
#pragma once

#include <string>
#include <vector>

#include "controller/observed.h"
#include "gang/slot.h"
#include "job/counts.h"
#include "job/pod_manifest.h"

namespace nervex::controller {

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

// Of ordinal 0: the job's own. One that is being deleted counts.
bool has_aggregator_pod(const Attempt& attempt, int ordinal);

// What templates are rendered with.
job::PodContext pod_context(const Observed& seen, const Attempt& attempt);

// Since when the job waits in the queue, over all attempts that followed by themselves: a job whose
// attempt was taken back, or failed, does not go to the end. A resume does.
SysTime place_in_queue(const job::Job& job);

// PodGroup and pods are of this job and this very attempt.
bool is_of_group(const kube::Pod& pod, const gang::PodGroup& group);

inline gang::SlotId slot_id(job::Slot slot) { return {slot.ordinal, slot.incarnation}; }
inline job::Slot job_slot(gang::SlotId slot) { return {slot.ordinal, slot.incarnation}; }

}  // namespace nervex::controller
