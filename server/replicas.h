// server/replicas.h - what clients do with replicas: add, remove, replace and list them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "kube/api.h"
#include "server/changes.h"
#include "server/stores.h"

namespace nervex::server {

// Thread-safe. Errors carry the code from which envelope.h makes a status.
class Replicas {
 public:
  Replicas(kube::Api& api, Stores& stores, const Clock& clock, ChangeOptions options = {})
      : stores_(stores), lookup_(api, stores), changes_(api, stores, clock, std::move(options)) {}

  // One optimistic write to spec.requests each, or none (server/changes.h). Return the addresses
  // of what was added, removed, or took the place of what failed.
  Result<Listing> add(const AddRequest& request, const Call& call = {}) {
    return changes_.add(request, call);
  }
  Result<Listing> remove(const RemoveRequest& request, const Call& call = {}) {
    return changes_.remove(request, call);
  }
  Result<Listing> replace(const ReplaceRequest& request, const Call& call = {}) {
    return changes_.replace(request, call);
  }
  Changes& changes() { return changes_; }

  using Listed = std::variant<Listing, std::vector<Listing>>;
  // From the cache; a pod that it does not know is looked up before kNotFound is said.
  Result<Listed> list(const ListQuery& query) const;

 private:
  Result<Caller> find(const std::string& ns, const std::string& pod) const;
  // Those that the job has not released.
  std::vector<PodPtr> pods_of(const job::Job& job) const;
  std::vector<Listing> list_all(const std::optional<std::string>& ns) const;
  Result<Listed> list_by_coordinator(const std::string& ns, const std::string& name) const;
  Result<Listed> list_by_aggregator(const std::string& ns, const std::string& name) const;
  Result<Listed> list_by_name(const std::optional<std::string>& ns, const std::string& name) const;

  Stores& stores_;
  const Lookup lookup_;
  Changes changes_;
};

}  // namespace nervex::server
