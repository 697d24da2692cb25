// certs/plan.h - which certificates must be created again, and whom do the webhooks' callers trust?
// Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "certs/x509.h"

namespace nervex::certs {

// What is there. A part that is missing is nullopt or empty; texts may be anything.
struct StoredCerts {
  std::optional<KeyPair> authority;
  std::string bundle;  // PEM of every authority that is trusted
  std::optional<KeyPair> serving;

  bool operator==(const StoredCerts&) const = default;
};

struct Terms {
  std::vector<std::string> names;  // that the serving certificate must have, "DNS:..." or "IP:..."
  std::chrono::seconds serving_validity = std::chrono::days(90);
  std::chrono::seconds renew_before = std::chrono::days(30);
  bool renew_now = false;  // the serving certificate, whatever its age
  std::chrono::seconds authority_validity = std::chrono::days(3650);
  // A year in which both authorities are trusted: no serving certificate of the old one outlives
  // it.
  std::chrono::seconds authority_renew_before = std::chrono::days(365);
};

// Why something is created again; empty: what is there stays.
struct RenewalPlan {
  std::string new_authority;
  std::string new_serving;

  bool operator==(const RenewalPlan&) const = default;
};

// A serving certificate stays while it is fresh, fits its key, has all names and is signed by any
// authority that is still trusted: so a new authority takes over with the next ordinary renewal,
// long after it came to be trusted.
RenewalPlan judge(const StoredCerts& stored, const Terms& terms, SysTime now);

// `authority` and those of the stored ones that are valid now (a clock may be five minutes off),
// without repeats, newest first.
std::string bundle_with(const std::string& authority, const StoredCerts& stored, SysTime now);

// Carries out the verdict: what should be there in place of `stored`. Equal if nothing is to be
// done. kInvalid: a name is none.
Result<StoredCerts> renew(const StoredCerts& stored, const RenewalPlan& verdict, const Terms& terms,
                          SysTime now);

}  // namespace nervex::certs
