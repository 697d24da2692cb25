// controller/observe/observe.h - what is there of one job, right now? Gathers it for reconcile.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "controller/decide/round.h"
#include "controller/observe/caches.h"
#include "job/types.h"
#include "kube/api.h"

namespace nervex::controller {

struct ObserveOptions {
  std::string server_url;         // what pods are told
  std::string aggregator_config;  // "namespace/name"
  bool server_token = false;      // pods get a token for nervex-server
  std::chrono::milliseconds status_update_period{
      200};  // how long changes of counts wait for others
  std::chrono::milliseconds retry_delay = kRetryDelay;
};

// From the caches alone: what this process knows now, its own writes included. nullopt: there is no
// such job.
std::optional<Observed> observe_caches(const Caches& caches, const ObserveOptions& options,
                                       const std::string& key, SysTime now);

// Makes the round of `seen`; what live_checks() asks of it is read into `seen` first. Fails only as
// those questions fail, and with kTransient while a cache is behind. `round` borrows from `seen`.
Result<Nothing> observe_live(kube::Api& api, const Caches& caches, Observed& seen,
                             std::optional<Round>& round);

// -- what is left of a deleted job that had this one's name?

// Who deletes a job and creates it again does so while the first one's pods are still on their way
// out: they are given their grace period, and the garbage collector takes its time. Till then the
// names belong to them. Returns the first object, "pod dqn-coordinator", that has a name which the
// job's attempt needs at its start and is owned by another job of the same name; "" if there is
// none. Workers' names are never the same. Each of the object's events brings the job up again, for
// owner_job_key() goes by name. Cost: at most five look-ups. Thread-safe.
std::string predecessor_remains(const Caches& caches, const job::Job& job, bool wants_aggregator);

}  // namespace nervex::controller
