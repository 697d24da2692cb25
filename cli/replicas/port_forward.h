// cli/replicas/port_forward.h - how does a user outside the cluster reach nervex-server?
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "cli/cluster_flags.h"

namespace nervex::cli {

// `kubectl port-forward` to nervex-server, until this is destroyed.
class PortForward {
 public:
  // `suite_ns`: where nervex-server runs. kInvalid: kubectl is not on the PATH. kTransient: it
  // failed, with its own words.
  static Result<PortForward> start(const ClusterFlags& flags, const std::string& suite_ns);

  int port() const { return port_; }  // on 127.0.0.1

 private:
  PortForward(BackgroundProcess process, int port) : process_(std::move(process)), port_(port) {}

  BackgroundProcess process_;
  int port_;
};

// The local port of "Forwarding from 127.0.0.1:40123 -> 8080". Pure.
std::optional<int> parse_forwarded_port(std::string_view line);

}  // namespace nervex::cli
