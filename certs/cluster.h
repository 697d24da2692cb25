// certs/cluster.h - how do the webhook's certificates get into a cluster, and how are they renewed?
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "certs/plan.h"
#include "kube/api.h"

namespace nervex::certs {

// Where they are stored: names that manifests/ and its roles also use.
struct Places {
  std::string ns = "nervex-system";
  std::string authority_secret = "nervex-ca";
  std::string serving_secret = "nervex-webhook-server-cert";
  std::string mutating = "nervex-mutating-webhook-configuration";
  std::string validating = "nervex-validating-webhook-configuration";
};

// The Secrets to store (core/v1 Secret of type kubernetes.io/tls): tls.crt, tls.key, and ca.crt
// with all trusted authorities.
Json authority_secret(const Places& places, const StoredCerts& certs);
Json serving_secret(const Places& places, const StoredCerts& certs);

// Creates what judge() finds missing, and sets caBundle in every hook of both webhook
// configurations. Returns what was done, or with `dry_run`, which writes nothing, would be done:
// one sentence per object.
//
// Order: the authority's Secret, then caBundle, then the serving certificate. No caller sees a
// certificate before its signer is trusted, and the next run completes an interrupted one. Each
// write requires the version read; on a conflict it reads and decides again, up to five times.
// kNotFound: a webhook configuration is missing, and nothing was written.
Result<std::vector<std::string>> install(kube::Api& api, const Places& places, const Terms& terms,
                                         const Clock& clock, bool dry_run);

}  // namespace nervex::certs
