// server/lookup.h - where does one find the pod that asks, its job and its attempt?
#pragma once

#include <string>

#include "base/error.h"
#include "kube/api.h"
#include "server/caches.h"
#include "server/caller.h"

namespace nervex::server {

// Thread-safe. From the cache it costs nothing; live it is up to three GETs.
//
// A cache may lag behind a coordinator that has just started, and a client never gets over a
// refusal: so no request is refused for what only the cache says.
class Lookup {
 public:
  Lookup(kube::Api& api, const Stores& stores) : api_(api), stores_(stores) {}

  Caller cached(const std::string& ns, const std::string& pod) const;
  // What does not exist is null in the result; kTransient if the API server would not say.
  Result<Caller> live(const std::string& ns, const std::string& pod) const;
  // `before`, which has a pod and a job, with the job as it is now: one GET, unless the job is in
  // another attempt by now. For a write that lost a race, most often against the job's status.
  Result<Caller> live_job(const Caller& before) const;

 private:
  kube::Api& api_;
  const Stores& stores_;
};

}  // namespace nervex::server
