// certs/cluster.h - how do the webhook's certificates get into a cluster, and stay fresh there?
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "certs/plan.h"
#include "kube/api.h"

namespace nervex::certs {

// Where they are kept: names that manifests/ and the roles there use too.
struct Places {
  std::string ns = "nervex-system";
  std::string authority_secret = "nervex-ca";
  std::string serving_secret = "nervex-webhook-server-cert";
  std::string mutating = "nervex-mutating-webhook-configuration";
  std::string validating = "nervex-validating-webhook-configuration";
};

// The Secrets as they are to be stored (core/v1 Secret of type kubernetes.io/tls): tls.crt,
// tls.key, and ca.crt with everybody who is trusted.
Json authority_secret(const Places& places, const StoredCerts& certs);
Json serving_secret(const Places& places, const StoredCerts& certs);

// Makes what judge() finds wanting, and fills caBundle of every hook of both webhook
// configurations. Returns what was done or (with `dry_run`, which writes nothing) would be, one
// sentence per object.
//
// Order: the authority's Secret, then caBundle, then the serving certificate: nobody is shown a
// certificate before its signer is trusted, and a run that was cut off anywhere is completed by the
// next. Each write is bound to the version that was read; the second writer reads and decides
// again, five times at most. kNotFound: a webhook configuration is missing; nothing was written
// then.
Result<std::vector<std::string>> install(kube::Api& api, const Places& places, const Terms& terms,
                                         const Clock& clock, bool dry_run);

}  // namespace nervex::certs
