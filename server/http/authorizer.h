// server/http/authorizer.h - who is this caller, and may it do that?
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/http/messages.h"
#include "kube/api.h"
#include "server/http/identity.h"
#include "server/stores.h"

namespace nervex::server {

// What a request is about: the pod it names, if any, in `ns`, if any.
struct Subject {
  bool changes = false;  // adds, removes or replaces; else it only reads
  std::string ns;
  std::string pod;
};

// Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;

  // Who sends these headers, from the address `peer`? kUnauthorized: nobody known (HTTP 401).
  // kTransient: could not be asked.
  virtual Result<Identity> identify(const RequestHeaders& headers, const std::string& peer) = 0;
  // kForbidden: it may not (HTTP 403). kTransient: could not be asked.
  virtual Result<Nothing> allow(const Identity& who, const Subject& subject) = 0;
};

// --auth=none: callers are not identified, and may do everything.
std::unique_ptr<Authorizer> allow_all();

// --auth=token. One rule: a pod may do everything to the job it belongs to; every
// other caller, and a pod for another job, needs the same right on the NerveXJob itself: patch to
// change, get or list to read. The API server is asked; a token's review is remembered for ten
// seconds, a good one as a bad one. One address has a few reviews of new tokens under way at most:
// anybody can send any number of tokens.
std::unique_ptr<Authorizer> authorize_by_token(kube::Api& api, const Stores& stores,
                                               const Clock& clock);

}  // namespace nervex::server
