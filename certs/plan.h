// certs/plan.h - which certificates must be created again, and which authorities do the webhooks'
// callers trust? Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "certs/x509.h"

namespace nervex::certs {

// The existing certificates. A missing part is nullopt or empty; texts may be invalid.
struct StoredCerts {
  std::optional<KeyPair> authority;
  std::string bundle;  // PEM of every trusted authority
  std::optional<KeyPair> serving;

  bool operator==(const StoredCerts&) const = default;
};

struct Terms {
  std::vector<std::string> names;  // that the serving certificate must have, "DNS:..." or "IP:..."
  std::chrono::seconds serving_validity = std::chrono::days(90);
  std::chrono::seconds renew_before = std::chrono::days(30);
  bool renew_now = false;  // the serving certificate, at any age
  std::chrono::seconds authority_validity = std::chrono::days(3650);
  // For a year both authorities are trusted: no serving certificate of the old one outlives it.
  std::chrono::seconds authority_renew_before = std::chrono::days(365);
};

// Why a certificate is created again; empty: the existing one stays.
struct RenewalPlan {
  std::string new_authority;
  std::string new_serving;

  bool operator==(const RenewalPlan&) const = default;
};

// A serving certificate stays while it is fresh, fits its key, has all names and is signed by a
// trusted authority. So a new authority takes over with the next ordinary renewal, long after
// callers trust it.
RenewalPlan judge(const StoredCerts& stored, const Terms& terms, SysTime now);

// `authority` and the stored authorities that are valid now (within five minutes of clock skew),
// without duplicates, newest first.
std::string bundle_with(const std::string& authority, const StoredCerts& stored, SysTime now);

// Executes the verdict: returns the certificates that replace `stored`, equal if nothing is to be
// done. kInvalid: an invalid name.
Result<StoredCerts> renew(const StoredCerts& stored, const RenewalPlan& verdict, const Terms& terms,
                          SysTime now);

}  // namespace nervex::certs
