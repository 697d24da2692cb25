// controller/decide/status/counts.h - how many pods of each role run, succeeded, failed, and are
// wanted?
#pragma once

#include "controller/decide/round/round.h"
#include "job/types.h"

namespace nervex::controller {

bool is_base_collector(const AttemptPod& member);

// Sets the counts of each role from the attempt's pods and from `status.ended`. `before`: the
// status as stored, which may count more ends than it lists.
void set_counts(const job::Status& before, const Attempt& attempt, job::Status& status);

// Wanted pods that continue or will be created, including those without a name left. While requests
// are lost their pods count too.
int desired_pods(const Round& round);

// Keeps status.ended short enough to be stored.
void forget_many_ended(const Round& round, job::Status& status);

// Counts the running pods of a job that succeeded as succeeded (the contract).
void count_active_as_succeeded(job::Status& status);
// A failed job's running pods are deleted next, and the status is not written again: they do not
// count as active. Those that the user keeps (cleanPodPolicy None) do.
void forget_active(const Observed& seen, job::Status& status);

}  // namespace nervex::controller
