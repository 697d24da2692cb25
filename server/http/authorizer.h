// server/http/authorizer.h - which user calls, and may it do that?
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/http/messages.h"
#include "kube/api.h"
#include "server/http/identity.h"
#include "server/stores.h"

namespace nervex::server {

// The subject of a request: its pod and namespace, if any.
struct Subject {
  bool changes = false;  // adds, removes or replaces; false: only reads
  std::string ns;
  std::string pod;
};

// Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;

  // The user behind these headers, from the address `peer`. kUnauthorized: unknown (HTTP 401).
  // kTransient: the API server did not answer.
  virtual Result<Identity> identify(const RequestHeaders& headers, const std::string& peer) = 0;
  // kForbidden: not allowed (HTTP 403). kTransient: the API server did not answer.
  virtual Result<Nothing> allow(const Identity& who, const Subject& subject) = 0;
};

// --auth=none: callers are not identified and may do everything.
std::unique_ptr<Authorizer> allow_all();

// --auth=token and transition. A pod may do everything to its own job. Every other caller, and a
// pod for another job, needs the same right on the NerveXJob itself: patch to change, get or list
// to read. The API server decides; token reviews are cached for ten seconds, rejections too. Each
// address may have only a few reviews of new tokens in progress, because any client can send any
// number of tokens. `tokenless`: what becomes of a request without the header Authorization.
enum class Tokenless {
  kRefused,    // --auth=token
  kByAddress,  // --auth=transition: it is of the pod at its source address, see
               // address_identity.h, for that pod's own job alone. The pod is listed again after
               // five minutes; in between the cache must show it alive with this address
};
std::unique_ptr<Authorizer> authorize_by_token(kube::Api& api, const Stores& stores,
                                               const Clock& clock,
                                               Tokenless tokenless = Tokenless::kRefused);

}  // namespace nervex::server
