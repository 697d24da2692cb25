// controller/observe/confirm.h - is the job still what a removal was decided on?
#pragma once

#include "controller/decide/actions.h"
#include "controller/observe/caches.h"
#include "kube/api.h"

namespace nervex::controller {

// Before pods of a job that goes on are deleted, or slots leave its PodGroup, the job is read live:
// in a cache that lags behind, what a user or nervex-server has asked for since is not wanted. ok
// without a read if `actions` remove nothing, or the job has ended for good. kTransient: the live
// job wants something else; it is in the cache now, so that the next round decides on it.
Result<Nothing> confirm_removals(kube::Api& api, Caches& caches, const job::Job& job,
                                 const Actions& actions);

}  // namespace nervex::controller
