// cli/cluster_flags.h - which cluster and namespace does a verb work on? Flags as in kubectl.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "base/error.h"
#include "kube/api.h"
#include "kube/config.h"

namespace nervex::cli {

struct ClusterFlags {
  std::string kubeconfig;  // empty: as kubectl finds it, in a pod its service account
  std::string context;     // empty: the kubeconfig's current one
  std::string ns;          // empty: the context's
};

void add_cluster_flags(CLI::App& command, ClusterFlags& flags);

// `ns` of the result is --namespace if given.
Result<kube::ConnectionConfig> load_connection(const ClusterFlags& flags);

// Runs `work` with a connection and the namespace; warnings of the API server go to stderr. Returns
// its exit code, or 1 if the kubeconfig does not lead to an API server. `limit`: the verb's
// --timeout; a call without an answer ends one second after it.
int with_cluster(const ClusterFlags& flags,
                 const std::function<int(kube::Api& api, const std::string& ns)>& work,
                 std::optional<std::chrono::milliseconds> limit = std::nullopt);

}  // namespace nervex::cli
