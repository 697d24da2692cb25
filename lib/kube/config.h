// kube/config.h - which API server, and which identity? kubeconfig or in-cluster.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "kube/auth/exec_plugin.h"

namespace nervex::kube {

struct ConnectionConfig {
  std::string url{};          // https://host:port, maybe with a path
  std::string ca{};           // PEM text; empty: the system's
  std::string client_cert{};  // PEM text
  std::string client_key{};   // PEM text
  // The files of these texts. Checked each minute, because they are renewed while we run. Empty:
  // the text is in the kubeconfig itself.
  std::string ca_file{};
  std::string client_cert_file{};
  std::string client_key_file{};
  std::string server_name{};             // tls-server-name
  bool accepts_any_certificate = false;  // insecure-skip-tls-verify
  std::string proxy_url{};               // http://...; empty: none
  // The headers that act as another user, as names and values: `as`, `as-groups`, ...
  std::multimap<std::string, std::string> impersonation{};
  std::string token{};       // bearer; empty: none
  std::string token_file{};  // read again each minute; wins over token
  // Used for a token or a certificate if neither is set above.
  std::optional<ExecPlugin> exec{};
  std::string ns{};  // the context's namespace; "default" if it names none
  // For a connection, and for each part of a request or a reply. Not for watches.
  std::chrono::milliseconds request_timeout = std::chrono::seconds(30);
  std::size_t connections = 16;  // kept; also the maximum of concurrent requests. Not for watches
  // Limit for a whole call: waiting for a connection, the reply, and retries. Not for watches.
  std::optional<std::chrono::milliseconds> call_timeout{};
};

// The current context of that file. Relative file names are relative to its folder. kInvalid names
// the part of the file that is missing or not supported.
Result<ConnectionConfig> load_kubeconfig(const std::string& path);
// From the service account mounted into a pod, and KUBERNETES_SERVICE_HOST and _PORT.
inline constexpr const char* kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";
Result<ConnectionConfig> load_in_cluster(const std::string& folder = kServiceAccountFolder);
// For programs: `path` if not empty, else in-cluster.
Result<ConnectionConfig> load_config(const std::string& path);
// For the CLI, as kubectl: `path`, else $KUBECONFIG, else ~/.kube/config, else in-cluster (also if
// no file of KUBECONFIG exists). KUBECONFIG may list several files (a:b): of entries with the same
// name the first counts, absent files are skipped. `context`: its name; empty: the current one.
Result<ConnectionConfig> load_user_config(const std::string& path, const std::string& context = "",
                                          const std::string& pod_folder = kServiceAccountFolder);

}  // namespace nervex::kube
