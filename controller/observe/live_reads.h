// controller/observe/live_reads.h - what does the API server itself say, where a cache may be
// stale?
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "controller/decide/reconcile.h"
#include "controller/observe/caches.h"
#include "job/types.h"
#include "kube/api.h"
#include "kube/model/pod.h"

namespace nervex::controller {

// -- which pods does a job have?

// So few pods are asked for by name; more are looked for in a list of all.
inline constexpr std::size_t kFewNames = 16;

// Gives `on_pod` each pod whose controller is the job, by its uid. Read in pages: in memory there
// is never more than one page of text and one pod, however many and large they are. Costs the API
// server a look at all pods of the namespace that carry the job's label. After an Error some pods
// may have been given.
Result<Nothing> for_each_live_pod(kube::Api& api, const job::Job& job,
                                  const std::function<void(kube::Pod pod)>& on_pod);

// The pod of that name; nullopt if there is none whose controller is the job.
Result<std::optional<kube::Pod>> live_pod(kube::Api& api, const job::Job& job,
                                          const std::string& name);

// -- is the job still what a removal was decided on?

// Before pods of a job that goes on are deleted, or slots leave its PodGroup, the job is read live:
// in a cache that lags behind, what a user or nervex-server has asked for since is not wanted. ok
// without a read if `actions` remove nothing, or the job has ended for good. kTransient: the live
// job wants something else; it is in the cache now, so that the next round decides on it.
Result<Nothing> confirm_removals(kube::Api& api, Caches& caches, const job::Job& job,
                                 const Actions& actions);

}  // namespace nervex::controller
