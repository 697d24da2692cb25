// cli/doctor/checks.h - is the suite healthy, and what should be done? Pure.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "cli/terminal.h"
#include "kube/model/json.h"

namespace nervex::cli {

enum class Health {
  kGood,
  kWarning,
  kBad,
  kHidden,  // the user may not see it
};
std::string_view to_string(Health health);

struct Check {
  std::string subject;
  Health health = Health::kGood;
  std::string finding;
  std::string remedy = {};  // what to do; "" if nothing
  bool operator==(const Check&) const = default;
};

struct Right {  // of the user
  std::string verb;
  std::string resource;  // "pods/log"
  std::string ns;        // "": the whole cluster
  bool is_allowed = false;
};

// What was read, each with the user's own rights; an Error says why not.
struct SuiteFacts {
  SysTime now{};
  std::string cli_version;
  std::string ns;               // the user's
  std::string suite_ns;         // of the suite's programs
  Result<Json> server_version;  // /version
  Result<Json> our_resources;   // the discovery of our API group
  Result<Nothing> wrong_job;    // a dry run of creating a job that only the webhooks refuse
  std::vector<Result<Json>> webhook_configurations;  // mutating, validating
  Result<Json> serving_secret;                       // with the webhook's certificate
  struct NamedLease {
    std::string name;
    Result<Json> lease;
  };
  std::vector<NamedLease> leases;  // of the leaders
  Result<Json> deployments;        // of suite_ns, as a list
  std::vector<Right> rights;
};

// In the order in which a user should read them.
std::vector<Check> examine(const SuiteFacts& facts);

// Lines with what to do under each that needs it.
std::string to_text(const std::vector<Check>& checks, const Paint& paint);
Json to_json(const std::vector<Check>& checks);

}  // namespace nervex::cli
