#include "extender/flags.h"

#include <iostream>

#include "base/net/address.h"
#include "base/tls/flags.h"

namespace nervex::extender {

namespace {

// An invalid address passes here: listening on it fails, with the reason.
bool is_open_to_all(const Flags& flags) {
  const auto address = parse_host_port(flags.common.listen);
  if (!address || is_loopback(*address)) return false;
  return flags.tls.cert_file.empty() || flags.tls.client_ca_file.empty();
}

}  // namespace

std::optional<int> parse(int argc, char** argv, Flags& flags) {
  CLI::App app(
      "Scheduler extender: plans where the pods of each gang go, and tells kube-scheduler.",
      "nervex-extender");
  // Loopback: kube-scheduler runs in the same pod, and every caller of bind can bind pods.
  add_common_flags(app, flags.common, "127.0.0.1:9080",
                   "address that kube-scheduler calls; keep it on loopback");
  kube::add_leader_flags(app, flags.leader, "nervex-extender");
  add_tls_flags(app, flags.tls);
  add_help_footer(app, "nervex-extender --listen 127.0.0.1:9080 --metrics-listen 0.0.0.0:8082");
  if (const auto code = parse_flags(app, argc, argv, flags.common)) return code;
  if (!is_open_to_all(flags)) return std::nullopt;
  std::cerr << "nervex-extender: --listen " << flags.common.listen
            << " is not on loopback, and every caller of the extender can bind pods: give "
               "--tls-cert-file, --tls-key-file and --client-ca-file, or listen on 127.0.0.1\n";
  return kExitUsage;
}

}  // namespace nervex::extender
