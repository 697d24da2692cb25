// controller/observe.h - what is there of one job, right now? Gathers it for reconcile.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "controller/caches.h"
#include "controller/observed.h"
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

// From the caches; asks the API server only when the coordinator or the PodGroup of an attempt that
// ran seems to be gone, since that ends it, when another pod does, since that is replaced, and when
// something seems to be left over, since that is deleted. nullopt: there is no such job. Fails only
// as those questions fail, and with kTransient while a cache is behind.
Result<std::optional<Observed>> observe(kube::Api& api, Caches& caches,
                                        const ObserveOptions& options, const std::string& key,
                                        SysTime now);

}  // namespace nervex::controller
