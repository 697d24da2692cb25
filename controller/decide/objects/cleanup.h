// controller/decide/objects/cleanup.h - which objects of a job are removed at its end?
#pragma once

#include <optional>
#include <vector>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

// First the PodGroup, so that no pod of the job is bound any more; then pods by cleanPodPolicy;
// then all services. A job in its final phase gets no other action. Of a job that its time limit
// ended, unfinished pods go whatever the policy. With the policy Running, a pod whose main
// container has ended and whose sidecar runs on goes a minute after the job's end. Here and below,
// a pod that is being deleted with a longer grace period than its own gets that one: a user may
// have deleted it before.
Actions clean_up(const Observed& seen);
// When the next such pod is due; nullopt: none.
std::optional<SysTime> next_clean_up(const Observed& seen);

// For a job that is being deleted and that a finalizer keeps: PodGroups, unfinished pods, and
// services, so that it has no place in the queue and holds no capacity meanwhile. Finished pods
// stay readable until the job is deleted. Nothing for a job deleted with --cascade=orphan; and each
// object only in the version that was seen, since it may have been orphaned meanwhile.
Actions clean_up_deleted(const Observed& seen);

// Target to delete the pod: by force if its node is lost.
Target pod_target(const kube::Pod& pod);

// Pods of any attempt, finished or not, that are being deleted on a lost node. No kubelet ends
// them: their names and slots would stay taken.
// And those whose grace period ends later than Observed::max_termination_grace allows: with that
// one.
Actions delete_stuck_pods(const Observed& seen);

// -- what remains of the job's earlier attempts?

// Pods of other PodGroups; then, before the attempt has a PodGroup, all services (the next pods get
// new ones); then the other PodGroups. Pods come first: they use capacity until they end. With a
// stale cache these may be all that the job has: only for what observe.h gave.
Actions delete_stale_objects(const Round& round);

// -- which pods lose their tracking finalizer? Pure.
//
// A coordinator's or worker's pod cannot vanish before the controller has recorded its end: the
// finalizer (job::kTrackingFinalizer) keeps the object and its exit code, even if the controller is
// down for hours. It keeps neither containers nor capacity: the kubelet still stops a deleted pod.
// Costs one write per removed pod.

// For a job that continues: pods that are being deleted. The status that this round writes has
// their ends and losses, so put this after it.
std::vector<Target> pods_to_release(const Observed& seen);

// For an ended job also the remaining pods: their ends are no longer recorded, and the user may
// delete them, even after the controller was uninstalled.
std::vector<Target> pods_to_release_at_end(const Observed& seen,
                                           const std::vector<Target>& to_delete);

// All pods that name one job as their owner, or all of a namespace that were orphaned.
struct PodsOfKey {
  const Ptrs<kube::Pod>& pods;
  std::string job_uid;  // of the job that has the name now; "": none
  SysTime now;
  std::chrono::seconds max_grace;  // --max-termination-grace; 0: no limit
};
// Pods whose job does not exist (any more) or is a newer one of that name. Returns those that are
// being deleted, and those that were orphaned: they have no job as their owner.
std::vector<Target> orphans_to_release(const PodsOfKey& of);
// Pods of orphans_to_release() whose grace period ends later than max_grace allows, to be deleted
// with that one.
std::vector<Target> orphans_to_shorten(const PodsOfKey& of);

// Unfinished pods without a job (kubectl delete --cascade=orphan) that their queue ends, as it ends
// jobs: it is drained, or its time limit has passed since the pod was created. The queue is the one
// that their annotation names. Pods that the garbage collector deletes end by themselves, but no
// slower than these. `next`: when the first other one is due.
struct OrphansToEnd {
  std::vector<Target> due;
  std::optional<SysTime> next{};
};
OrphansToEnd orphans_to_end(const PodsOfKey& of, const queue::QueueTree* queues);

// PodGroups of ours that were orphaned (kubectl delete --cascade=orphan): `groups` have no job as
// their owner. The garbage collector does not delete them, and their capacity would stay reserved.
// Only in the version seen: one that gets an owner meanwhile survives.
std::vector<Target> orphaned_groups(const Ptrs<gang::PodGroup>& groups);

}  // namespace nervex::controller
