// controller/observe/observe.h - what is the current state of one job? Gathers it for reconcile.h.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
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
  std::string server_url;         // passed to pods
  std::string aggregator_config;  // "namespace/name"
  bool server_token = false;      // pods get a token for nervex-server
  // Minimum time between status writes of a job if the second only informs.
  std::chrono::milliseconds status_update_period{0};
  std::chrono::milliseconds retry_delay = kRetryDelay;
  bool shared_services = false;                                      // --services=shared
  bool direct_placement = false;                                     // --direct-placement
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;  // --max-reservation-seconds
  std::chrono::milliseconds start_timeout{0};                        // --start-timeout
  std::chrono::milliseconds max_termination_grace{0};                // --max-termination-grace
};

using JobPtr = std::shared_ptr<const job::Job>;
// The cached job with its templates: read from the API server if the cache has left them out
// (KeptTemplates). kTransient: the cache is stale.
Result<JobPtr> read_templates(kube::Api& api, Stores& stores, const JobPtr& job);

// From the caches only: what this process knows now, including its own writes. `job` has its
// templates.
Observed observe_caches(const Stores& stores, const ObserveOptions& options, const job::Job& job,
                        SysTime now);

// Makes the round of `seen`, after reading into `seen` what live_checks() requires. Fails only if
// those reads fail, and with kTransient while a cache is stale. `round` borrows from `seen`.
Result<Nothing> observe_live(kube::Api& api, const Stores& stores, Observed& seen,
                             std::optional<Round>& round);

// -- what remains of a deleted job of the same name?

// A user may delete a job and create it again while the first one's pods terminate: they have a
// grace period, and the garbage collector takes time. Until then they keep their names. Returns the
// first object with a name that the job's attempt needs at its start and that another job of the
// same name owns. Workers' names never collide. Each event of the object queues the job again,
// since owner_job_key() goes by name. Cost: at most five look-ups. Thread-safe.
Predecessor predecessor_remains(const Stores& stores, const job::Job& job, bool wants_aggregator);

// -- if a cache may be stale: which pods does a job have at the API server?

// Up to this many pods are read by name; more are found by listing all.
inline constexpr std::size_t kFewNames = 16;

// Calls `on_pod` for each pod that the job controls, by its uid. Reads pages: at most one page of
// text and one pod are in memory, however many and large the pods are. Costs the API server a look
// at all pods of the namespace with the job's label. Some pods may have been passed before an
// Error.
Result<Nothing> for_each_live_pod(kube::Api& api, const job::Job& job,
                                  const std::function<void(kube::Pod pod)>& on_pod);

// The pod of that name; nullopt if the job controls none.
Result<std::optional<kube::Pod>> live_pod(kube::Api& api, const job::Job& job,
                                          const std::string& name);

// -- if a cache may be stale: does what was decided hold?

// Reads the job live before pods of a job that continues are deleted, or slots leave its PodGroup:
// a stale cache lacks the latest requests of a user or nervex-server. ok without a read if
// `actions` remove nothing, or the job has ended for good. kTransient: the live job wants something
// else; the cache has it now, so the next round decides on it.
Result<Nothing> confirm_removals(kube::Api& api, Stores& stores, const job::Job& job,
                                 const Actions& actions);

// An attempt or a gang would end because it has not started (UpdateStatus::ends_unstarted). It may
// be committed, bound or running, and a cache that is a moment old lacks that: decide again after
// read_live_attempt(), which replaces the PodGroup in `seen`, and the pods if any gang is
// committed.
bool ends_unstarted(const Actions& actions);
Result<Nothing> read_live_attempt(kube::Api& api, Observed& seen);

}  // namespace nervex::controller
