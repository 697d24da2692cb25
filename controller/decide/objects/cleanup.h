// controller/decide/objects/cleanup.h - what is left to be removed of a job that has ended?
#pragma once

#include <vector>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

// The PodGroup first, so that nothing of the job is bound any more; then pods by cleanPodPolicy;
// then every service. Nothing else ever happens to a job in its final phase.
Actions clean_up(const Observed& seen);

// Of a job that is being deleted and that a finalizer keeps: PodGroups, pods that have not
// finished, and services, so that it has no place in the queue and holds no capacity meanwhile.
// Finished pods stay for who reads them, until the job itself goes. Nothing of a job that is
// deleted with --cascade=orphan; and each object only in the version that was seen, since it may
// have been orphaned meanwhile.
Actions clean_up_deleted(const Observed& seen);

// The pod, to be deleted: by force if its node is lost.
Target pod_target(const kube::Pod& pod);

// Pods of any attempt, finished or not, that are being deleted and sit on a lost node. No kubelet
// ends them: without this their names and slots would stay taken.
Actions delete_stuck_pods(const Observed& seen);

// -- what is left of the job's earlier attempts?

// Pods of other PodGroups, then, before the attempt has a PodGroup, all services (the next pods get
// their own), then the other PodGroups. Pods first: they use capacity until they end. What a stale
// cache takes for stale may be all that the job has: only for what observe.h gave.
Actions delete_stale_objects(const Round& round);

// -- which pods may lose their tracking finalizer? Pure.
//
// A pod of a coordinator or worker cannot vanish before the controller has recorded what became of
// it: the finalizer (job::kTrackingFinalizer) keeps the object, with its exit code, until then, be
// the controller away for hours. It keeps neither containers nor capacity: the kubelet stops a
// deleted pod all the same. Costs one write per pod that goes.

// Of a job that goes on: pods that are being deleted. Their ends and losses are in the status that
// this round writes, so put this behind it.
std::vector<Target> pods_to_release(const Observed& seen);

// Of an ended job also the pods that stay: their ends are not recorded any more, and the user may
// delete them, also when the controller is no longer installed.
std::vector<Target> pods_to_release_at_end(const Observed& seen,
                                           const std::vector<Target>& to_delete);

// Pods whose job does not exist (any more), or is another one of that name: `pods` are all that
// name it as their owner, `job_uid` its uid, "" if there is none. Those that are being deleted, and
// those that were orphaned: they have no job as their owner.
std::vector<Target> orphans_to_release(const Ptrs<kube::Pod>& pods, const std::string& job_uid);

// PodGroups of ours that were orphaned (kubectl delete --cascade=orphan): `groups` have no job as
// their owner. The garbage collector does not delete them, and their capacity would stay reserved.
// Only as they were seen: one that gets an owner meanwhile survives.
std::vector<Target> orphaned_groups(const Ptrs<gang::PodGroup>& groups);

}  // namespace nervex::controller
