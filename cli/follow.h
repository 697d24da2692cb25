// cli/follow.h - how does a verb follow a collection while it changes, over lost connections?
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "kube/api.h"

namespace nervex::cli {

struct FollowCalls {
  // The object was found, added or changed; nullptr: it was deleted. `key` is "namespace/name".
  // False ends.
  std::function<bool(const std::string& key, const Json* object)> on_object;
  // The first list is complete. False ends.
  std::function<bool()> on_listed = [] { return true; };
  // The connection was lost and is retried. Called once per outage.
  std::function<void(const Error&)> on_lost = [](const Error&) {};
  // The API server has answered this command before: an outage during the first list is retried,
  // too. Otherwise it is an error, because the kubeconfig may name a wrong server.
  bool retries_first_list = false;
};

// Lists the collection at `path`, which may have selectors, and watches it until a call returns
// false or `stop` is requested. Only a failure of the first list is an error (with
// `retries_first_list` none that is kTransient): later ones are retried with back-off, and the list
// is read again if its position has expired.
Result<Nothing> follow(kube::Api& api, const std::string& path, const FollowCalls& calls,
                       const std::stop_token& stop);

// The path of one object, as a collection.
std::string object_path(const kube::ResourceKind& kind, const std::string& ns,
                        const std::string& name);

}  // namespace nervex::cli
