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
         "hold the binds of a gang of up to this many pods until kube-scheduler has accepted all "
         "its pods, so that it starts whole or not at all; a larger gang starts with its first "
         "bind; 0: hold only the coordinator's bind, until its workers are bound")
      ->type_name("PODS")
      ->check(CLI::Range(0, 5000))
      ->capture_default_str();
  add_duration(
      app, "--hold-deadline", holds.longest,
      "maximum time to hold a bind until the gang is complete, or the coordinator's until the "
      "other pods are bound; kube-scheduler's httpTimeout for bind must be 15s longer");
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
      "Scheduler extender: plans where the pods of each gang go, and answers kube-scheduler's "
      "filter and bind calls.",
      "nervex-extender");
  // Loopback: kube-scheduler runs in the same pod, and every caller of bind can bind pods.
  add_common_flags(app, flags.common, "127.0.0.1:9080",
                   "address that kube-scheduler calls; keep it on loopback");
  kube::add_leader_flags(app, flags.leader, "nervex-extender");
  add_tls_flags(app, flags.tls);
  add_hold_flags(app, flags.holds);
  add_duration(app, "--plan-deadline", flags.plan_expiry.deadline,
               "drop a plan that has not started, to free its capacity, when none of its pods was "
               "created, held, bound or refused for this time, and after 10m in any case; must be "
               "longer than --hold-deadline; 0: never");
  add_duration(app, "--bind-deadline", flags.cycle.healing.bind_deadline,
               "move a pod of a committed gang to another node when kube-scheduler refuses it for "
               "longer than this; must not be 0");
  add_duration(app, "--node-lost-after", flags.node_lost_after,
               "force-delete and replace pods on a node that is not Ready, or deleted, for longer "
               "than this; on a node that is only disconnected they may keep running beside their "
               "replacements; no pods are deleted while all nodes are not Ready, or 55 % of them "
               "and more than two; 0: wait until Kubernetes deletes them");
  add_duration(app, "--healing-deadline", flags.cycle.healing.deadline,
               "requeue a gang that has lost pods and is not whole again within this time; 0: let "
               "it run on in part");
  app.add_option(
         "--node-class-label", flags.node_class_label,
         "label of nodes whose value is their class: quotas and limits of Queues and nodeClasses "
         "of jobs name classes; the default is the GPU model, set by NVIDIA's GPU feature "
         "discovery; "
         "empty: nodes have no class")
      ->type_name("LABEL")
      ->capture_default_str();
  add_list(
      app, "--topology-levels", flags.topology_levels, job::parse_topology_levels,
      "node labels that a job's topology may name, those with the largest domains first: pods "
      "with policy Preferred that one domain does not hold stay within one of the level before "
      "it; as in nervex-webhook");
  add_object_name(app, "--aggregator-config", flags.aggregator_config,
                  "the AggregatorConfig of simulated jobs; as in nervex-controller");
  std::string preemption = "off";
  app.add_option(
         "--preemption", preemption,
         "which running workloads may be requeued so that others can start, where a "
         "Queue's reclaim and preemption allow it: off: none; reclaim: those that borrow "
         "what another queue is guaranteed; full: also those of lower priority in one queue")
      ->check(CLI::IsMember({"off", "reclaim", "full"}))
      ->capture_default_str();
  add_duration(app, "--reserve-after", flags.cycle.reservation.after,
               "reserve nodes for the first gang that has waited for capacity this long (5m is a "
               "good choice): only jobs that end in time, or are preemptible, start there before "
               "it; 0: reserve nothing");
  app.add_option("--reservations", flags.cycle.reservation.most,
                 "for so many gangs at a time, each on nodes of its own; 0: none")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  add_help_footer(app, "nervex-extender --listen 127.0.0.1:9080 --metrics-listen 0.0.0.0:8082");
  if (const auto code = parse_flags(app, argc, argv, flags.common)) return code;
  complete(flags.holds);
  if (preemption == "reclaim") flags.cycle.preemption = queue::PreemptionMode::kReclaim;
  if (preemption == "full") flags.cycle.preemption = queue::PreemptionMode::kFull;
  const auto plan_deadline = flags.plan_expiry.deadline;
  const bool is_order_wrong = plan_deadline.count() > 0 && plan_deadline <= flags.holds.longest;
  if (flags.holds.longest.count() == 0 || is_order_wrong) {
    std::cerr
        << "nervex-extender: --hold-deadline must not be 0, and --plan-deadline must be longer "
           "(or 0: plans do not expire)\n";
    return kExitUsage;
  }
  if (flags.cycle.healing.bind_deadline.count() == 0) {
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
