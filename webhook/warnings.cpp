#include "webhook/warnings.h"

#include <cstdint>
#include <ranges>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "job/pod_manifest.h"
#include "job/types.h"

namespace nervex::webhook {
namespace {

// In the schema, so that jobs need not change later, but nobody acts on it yet.
void warn_of_min_replicas(const Json& spec, std::vector<std::string>& warnings) {
  for (const auto role : {"collector", "learner"}) {
    if (kube::int_at(spec, {role, "minReplicas"}) <= kube::int_at(spec, {role, "replicas"}))
      continue;
    warnings.push_back(
        fmt::format("spec.{}.minReplicas: no capacity is held for them in this version", role));
  }
}

// The ports that each pod takes on its node, in order. In the node's own network (hostNetwork) the
// API server makes every port of a container a host port; the main port is there even if the
// template declares none, for the controller does.
std::set<std::int64_t> host_ports(const Json& pod_spec, job::Role role) {
  const bool host_network = kube::bool_at(pod_spec, {"hostNetwork"});
  std::set<std::int64_t> ports;
  if (host_network) ports.insert(job::main_port(pod_spec, role));
  for (const auto list : {"initContainers", "containers"}) {
    for (const auto& container : kube::array_at(pod_spec, {list})) {
      for (const auto& port : kube::array_at(container, {"ports"})) {
        const std::int64_t host_port = kube::int_at(port, {"hostPort"});
        if (host_port != 0) ports.insert(host_port);
        if (host_port == 0 && host_network) ports.insert(kube::int_at(port, {"containerPort"}));
      }
    }
  }
  return ports;
}

// The planner does not look at ports. kube-scheduler does: of two such pods that were planned for
// one node it binds one.
void warn_of_host_ports(const Json& spec, std::vector<std::string>& warnings) {
  constexpr std::size_t kMostNamed = 3;
  for (const auto role : {job::Role::kCoordinator, job::Role::kCollector, job::Role::kLearner}) {
    const auto name = to_string(role);
    const Json* pod_spec = kube::find(spec, {name, "template", "spec"});
    const auto ports = pod_spec == nullptr ? std::set<std::int64_t>() : host_ports(*pod_spec, role);
    if (ports.empty()) continue;
    const bool host_network = kube::bool_at(*pod_spec, {"hostNetwork"});
    const auto named = ports | std::views::take(kMostNamed);
    warnings.push_back(fmt::format(
        "spec.{}.template: {} {}{} are not planned: the gang may start in part", name,
        host_network ? "hostNetwork ports" : "host ports",
        fmt::join(named.begin(), named.end(), ", "), ports.size() > kMostNamed ? "..." : ""));
    warnings.push_back(
        fmt::format("spec.{}.template: let each pod fill a node (all its GPUs), or do without {}",
                    name, host_network ? "hostNetwork" : "hostPort"));
  }
}

// The planner looks at capacity and at nodes; what depends on other pods is the scheduler's own.
std::string unplanned(const Json& pod_spec) {
  if (!kube::array_at(pod_spec, {"schedulingGates"}).empty()) return "schedulingGates";
  if (!kube::array_at(pod_spec, {"topologySpreadConstraints"}).empty()) {
    return "topologySpreadConstraints";
  }
  for (const auto kind : {"podAntiAffinity", "podAffinity"}) {
    const auto& terms = kube::array_at(
        pod_spec, {"affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"});
    if (!terms.empty()) return kind;
  }
  return "";
}

void warn_of_unplanned(const Json& spec, std::vector<std::string>& warnings) {
  for (const auto role : {"coordinator", "collector", "learner"}) {
    const Json* pod_spec = kube::find(spec, {role, "template", "spec"});
    const std::string what = pod_spec == nullptr ? "" : unplanned(*pod_spec);
    if (what.empty()) continue;
    warnings.push_back(fmt::format(
        "spec.{}.template: {} is not planned for: the gang may start in part", role, what));
  }
}

}  // namespace

std::vector<std::string> warnings_for(const Json& object) {
  std::vector<std::string> warnings;
  const std::string policy = kube::string_at(
      object, {"spec", "coordinator", "template", "spec", "restartPolicy"}, "Never");
  if (!policy.empty() && policy != "Never") {
    // A container restarted in place would ask for a second full set of replicas.
    warnings.push_back(fmt::format(
        "spec.coordinator.template.spec.restartPolicy {}: a restarted coordinator starts the whole "
        "job again",
        policy));
  }
  const Json* spec = kube::find(object, {"spec"});
  if (spec == nullptr) return warnings;
  warn_of_min_replicas(*spec, warnings);
  warn_of_unplanned(*spec, warnings);
  warn_of_host_ports(*spec, warnings);
  return warnings;
}

}  // namespace nervex::webhook
