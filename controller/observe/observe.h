// controller/observe/observe.h - what is there of one job, right now? Gathers it for reconcile.h.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"
#include "controller/observe/stores.h"
#include "job/types.h"
#include "kube/api.h"
#include "kube/model/pod.h"

namespace nervex::controller {

struct ObserveOptions {
  std::string server_url;         // what pods get
  std::string aggregator_config;  // "namespace/name"
  bool server_token = false;      // pods get a token for nervex-server
  // Least time between two writes of a job's status of which the second only informs.
  std::chrono::milliseconds status_update_period{0};
  std::chrono::milliseconds retry_delay = kRetryDelay;
  bool shared_services = false;                                      // --services=shared
  bool direct_placement = false;                                     // --direct-placement
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;  // --max-reservation-seconds
  std::chrono::milliseconds start_timeout{0};                        // --start-timeout
};

// From the caches alone: what this process knows now, its own writes included. nullopt: there is no
// such job.
std::optional<Observed> observe_caches(const Stores& stores, const ObserveOptions& options,
                                       const std::string& key, SysTime now);

// Makes the round of `seen`; what live_checks() asks of it is read into `seen` first. Fails only as
// those questions fail, and with kTransient while a cache is behind. `round` borrows from `seen`.
Result<Nothing> observe_live(kube::Api& api, const Stores& stores, Observed& seen,
                             std::optional<Round>& round);

// -- what is left of a deleted job that had this one's name?

// Who deletes a job and creates it again does so while the first one's pods are still on their way
// out: they are given their grace period, and the garbage collector takes its time. Till then the
// names belong to them. Returns the first object that has a name which the job's attempt needs at
// its start and is owned by another job of the same name, if there is one. Workers' names are never
// the same. Each of the object's events brings the job up again, for owner_job_key() goes by name.
// Cost: at most five look-ups. Thread-safe.
Predecessor predecessor_remains(const Stores& stores, const job::Job& job, bool wants_aggregator);

// -- where a cache may be stale: which pods does a job have at the API server?

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

// -- where a cache may be stale: is the job still what a removal was decided on?

// Before pods of a job that goes on are deleted, or slots leave its PodGroup, the job is read live:
// in a cache that lags behind, what a user or nervex-server has asked for since is not wanted. ok
// without a read if `actions` remove nothing, or the job has ended for good. kTransient: the live
// job wants something else; it is in the cache now, so that the next round decides on it.
Result<Nothing> confirm_removals(kube::Api& api, Stores& stores, const job::Job& job,
                                 const Actions& actions);

}  // namespace nervex::controller
