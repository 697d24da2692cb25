// server/replicas.h - what can clients do with replicas? Add, remove, replace and list them.
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

// Thread-safe. envelope.h maps the errors' codes to a status.
class Replicas {
 public:
  Replicas(kube::Api& api, Stores& stores, const Clock& clock, ChangeOptions options = {})
      : stores_(stores), lookup_(api, stores), changes_(api, stores, clock, std::move(options)) {}

  // Each is at most one optimistic write to spec.requests (server/changes.h). They return the
  // addresses of replicas that were added, were removed, or replace failed ones.
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
  // From the cache; a pod that is not cached is looked up before kNotFound.
  Result<Listed> list(const ListQuery& query) const;

 private:
  Result<Caller> find(const std::string& ns, const std::string& pod) const;
  // Pods that the job has not released.
  std::vector<PodPtr> find_kept_pods(const job::Job& job) const;
  std::vector<Listing> list_all(const std::optional<std::string>& ns) const;
  Result<Listed> list_by_coordinator(const std::string& ns, const std::string& name) const;
  Result<Listed> list_by_aggregator(const std::string& ns, const std::string& name) const;
  Result<Listed> list_by_name(const std::optional<std::string>& ns, const std::string& name) const;

  Stores& stores_;
  const Lookup lookup_;
  Changes changes_;
};

}  // namespace nervex::server
