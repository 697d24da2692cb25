// controller/tracked_pods.h - which pods may lose their tracking finalizer? Pure.
//
// A pod of a coordinator or worker cannot vanish before the controller has recorded what became of
// it: the finalizer (job::kTrackingFinalizer) keeps the object, with its exit code, until then, be
// the controller away for hours. It keeps neither containers nor capacity: the kubelet stops a
// deleted pod all the same. Costs one write per pod that goes.
#pragma once

#include <vector>

#include "controller/actions.h"
#include "controller/observed.h"

namespace nervex::controller {

// Of a job that goes on: pods that are being deleted. Their ends and losses are in the status that
// this round writes, so put this behind it.
std::vector<Target> pods_to_release(const Observed& seen);

// Of an ended job all that stay as well: nobody asks for their ends any more, and they are the
// user's to delete, also when the controller is no longer installed.
std::vector<Target> pods_to_release_at_end(const Observed& seen,
                                           const std::vector<Target>& to_delete);

// Pods whose job does not exist (any more), or is another one of that name: `pods` are all that
// name it as their owner, `job_uid` its uid, "" if there is none. Those that are being deleted, and
// those that were orphaned: they have no job as their owner.
std::vector<Target> orphans_to_release(const Ptrs<kube::Pod>& pods, const std::string& job_uid);

}  // namespace nervex::controller
