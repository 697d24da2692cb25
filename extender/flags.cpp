#include "extender/flags.h"

#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

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

void add_hold_flags(CLI::App& app, HoldOptions& holds) {
  app.add_option(
         "--hold-binds-up-to", holds.largest_gang,
         "hold the binds of a gang of up to so many pods until kube-scheduler has accepted "
         "all of them, so that it starts whole or not at all; a larger gang starts with its "
         "first bind; 0: hold none, but the coordinator's until its workers are bound")
      ->type_name("PODS")
      ->check(CLI::Range(0, 5000))
      ->capture_default_str();
  add_duration(app, "--hold-deadline", holds.longest,
               "a bind is not held for longer until its gang is there, nor the coordinator's until "
               "the others are bound; kube-scheduler's httpTimeout for bind has to be 15s more");
}

// Of a gang that is not held one call is, too: its coordinator's, until all others are bound.
constexpr std::size_t kLeastCalls = 500;

// Derived from the flags: four gangs of that size may be bound at a time.
void complete(HoldOptions& holds) {
  holds.most_calls = std::max(4 * holds.largest_gang, kLeastCalls);
  holds.arrival_timeout = std::min(holds.arrival_timeout, holds.longest);
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
  add_hold_flags(app, flags.holds);
  add_duration(app, "--plan-deadline", flags.unstarted.deadline,
               "a plan that has not started is dropped when for this time none of its pods was "
               "created, held, bound or refused, and after 10m in any case, so that others get the "
               "capacity; longer than --hold-deadline; 0: never");
  add_duration(
      app, "--bind-deadline", flags.healing.bind_deadline,
      "a pod of a committed gang that kube-scheduler refuses for longer gets another node; not 0");
  add_duration(app, "--node-lost-after", flags.node_lost_after,
               "pods on a node that is not Ready, or deleted, for longer are removed by force and "
               "replaced; on a node that is only cut off they may run on beside their successors; "
               "none are while all nodes are not Ready, or 55 % of them and more than two; "
               "0: wait until Kubernetes removes them");
  add_duration(app, "--healing-deadline", flags.healing.deadline,
               "a gang that has lost pods and is not whole again within this time is queued again; "
               "0: it runs on in part");
  add_help_footer(app, "nervex-extender --listen 127.0.0.1:9080 --metrics-listen 0.0.0.0:8082");
  if (const auto code = parse_flags(app, argc, argv, flags.common)) return code;
  complete(flags.holds);
  const auto plan_deadline = flags.unstarted.deadline;
  const bool is_order_wrong = plan_deadline.count() > 0 && plan_deadline <= flags.holds.longest;
  if (flags.holds.longest.count() == 0 || is_order_wrong) {
    std::cerr
        << "nervex-extender: --hold-deadline must not be 0, and --plan-deadline must be longer "
           "(or 0: plans do not expire)\n";
    return kExitUsage;
  }
  if (flags.healing.bind_deadline.count() == 0) {
    std::cerr << "nervex-extender: --bind-deadline must not be 0: pods would move while they are "
                 "being bound\n";
    return kExitUsage;
  }
  if (!is_open_to_all(flags)) return std::nullopt;
  std::cerr << "nervex-extender: --listen " << flags.common.listen
            << " is not on loopback, and every caller of the extender can bind pods: give "
               "--tls-cert-file, --tls-key-file and --client-ca-file, or listen on 127.0.0.1\n";
  return kExitUsage;
}

}  // namespace nervex::extender
