// server/replicas.h - the two things clients do with replicas today: ask for more, and list them.
#pragma once

#include <variant>
#include <vector>

#include "base/error.h"
#include "kube/api.h"
#include "server/envelope.h"
#include "server/grow.h"
#include "server/lookup.h"
#include "server/request.h"
#include "server/turns.h"

namespace nervex::server {

// Thread-safe. Errors carry the code that envelope.h turns into a status.
class Replicas {
 public:
  Replicas(kube::Api& api, Stores& stores) : api_(api), stores_(stores), lookup_(api, stores) {}

  // One optimistic write to spec.requests: all that was asked for, or nothing. Returns the
  // addresses of what was added. kTransient also when the job was changed by others on every try.
  Result<Listing> add(const AddRequest& request);

  using Listed = std::variant<Listing, std::vector<Listing>>;
  // From the cache; a pod that it does not know is looked up before kNotFound is said.
  Result<Listed> list(const ListQuery& query) const;

 private:
  Result<Growth> decide(const Caller& caller, const AddRequest& request) const;
  Result<Nothing> write(const job::Job& job, const job::Requests& requests);
  bool was_applied(const job::Job& job, const job::Requests& requests) const;
  Result<Caller> find(const std::string& ns, const std::string& pod) const;
  std::vector<PodPtr> pods_of(const job::Job& job) const;
  std::vector<Listing> list_all(const std::optional<std::string>& ns) const;
  Result<Listed> list_by_coordinator(const std::string& ns, const std::string& name) const;
  Result<Listed> list_by_aggregator(const std::string& ns, const std::string& name) const;
  Result<Listed> list_by_name(const std::optional<std::string>& ns, const std::string& name) const;

  kube::Api& api_;
  Stores& stores_;
  const Lookup lookup_;
  Turns turns_;
};

}  // namespace nervex::server
