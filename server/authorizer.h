// server/authorizer.h - may this caller do that? Asks the API server (--auth=token).
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/api.h"
#include "server/caches.h"
#include "server/identity.h"

namespace nervex::server {

// What a request is about: the pod it names, if any, in `ns`, if any.
struct Subject {
  bool changes = false;  // adds, removes or replaces; else it only reads
  std::string ns;
  std::string pod;
};

// One rule: a pod may do everything to the job it belongs to; whoever else asks, and whatever else
// is asked for, needs the same right on the NerveXJob itself: patch to change, get or list to read.
//
// Thread-safe. A token's review is remembered for ten seconds, a good one as a bad one; the rest is
// asked each time.
class Authorizer {
 public:
  Authorizer(kube::Api& api, const Stores& stores, const Clock& clock)
      : api_(api), lookup_(api, stores), clock_(clock) {}
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;

  // Who sends these headers? kUnauthorized: nobody known (HTTP 401). kTransient: could not be
  // asked.
  Result<Identity> identify(const std::map<std::string, std::string>& headers);
  // kForbidden: it may not (HTTP 403). kTransient: could not be asked.
  Result<Nothing> allow(const Identity& who, const Subject& subject);

 private:
  struct Reviewed {
    MonoTime until{};
    Result<Identity> answer;
  };

  Result<Json> ask(const char* group, const char* plural, const Json& review);
  std::optional<Result<Identity>> remembered(const std::string& token);
  void remember(const std::string& token, const Result<Identity>& answer);
  Result<Caller> find(const std::string& ns, const std::string& pod, const std::string& uid) const;

  kube::Api& api_;
  const Lookup lookup_;
  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Reviewed> reviewed_ GUARDED_BY(mutex_);  // by token
};

}  // namespace nervex::server
