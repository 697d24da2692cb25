#include "job/pod_manifest.h"

#include <fmt/format.h>

#include "job/environment.h"
#include "job/json_edit.h"
#include "job/object_meta.h"
#include "job/pin.h"
#include "job/ports.h"
#include "job/server_token.h"

namespace nervex::job {
namespace {

// Either a PodTemplateSpec or the pod spec in it.
const Json& spec_in(const Json& pod_template_or_spec) {
  const Json* spec = kube::find(pod_template_or_spec, {"spec"});
  return spec != nullptr ? *spec : pod_template_or_spec;
}

int declared_port(const Json& container) {
  for (const auto& port : kube::array_at(container, {"ports"})) {
    if (kube::string_at(port, {"name"}) != kMainPort) continue;
    return static_cast<int>(kube::int_at(port, {"containerPort"}));
  }
  return 0;
}

Json metadata_of(const Job& job, const PodOrder& order, const Json& pod_template,
                 const std::string& main_name) {
  Json meta = object_meta(job, order.role, pod_name(job, order.role, order.slot), pod_template);
  Json& annotations = object_at(meta, "annotations");
  for (const auto& [key, value] : order.annotations) annotations[key] = value;
  if (!main_name.empty() && main_name != kMainContainer)
    annotations[std::string(kMainContainerAnnotation)] = main_name;
  const bool is_own_aggregator = order.role == Role::kAggregator && order.slot.ordinal == 0;
  if (!is_own_aggregator) meta["finalizers"] = Json::array({kTrackingFinalizer});
  return meta;
}

}  // namespace

int main_container(const Json& pod_spec) {
  const Json& containers = kube::array_at(pod_spec, {"containers"});
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (kube::string_at(containers[i], {"name"}) == kMainContainer) return static_cast<int>(i);
  }
  return containers.empty() || !containers.front().is_object() ? -1 : 0;
}

int main_port(const Json& pod_template_or_spec, Role role) {
  const Json& spec = spec_in(pod_template_or_spec);
  const int main = main_container(spec);
  if (main < 0) return default_port(role);
  const int port =
      declared_port(kube::array_at(spec, {"containers"})[static_cast<std::size_t>(main)]);
  return port != 0 ? port : default_port(role);
}

Json pod_manifest(const Job& job, const PodOrder& order, const PodContext& context) {
  Json spec = pod_spec(job, order.role, order.slot, order.entry, context);
  const Environment environment = environment_of(job, order.role, order.slot, order.entry, context);
  std::string main_name;
  if (const int main = main_container(spec); main >= 0) {
    Json& container = spec["containers"][static_cast<std::size_t>(main)];
    main_name = kube::string_at(container, {"name"});
    declare_ports(container, ports_of(job, order.role, order.slot, order.entry, context));
    for (auto& each : spec["containers"]) {
      if (each.is_object()) append_environment(each, environment);
    }
  }
  if (order.role == Role::kCoordinator && kube::string_at(spec, {"restartPolicy"}).empty()) {
    spec["restartPolicy"] = "Never";
  }
  if (context.server_token) add_server_token(spec);
  spec["schedulerName"] = kSchedulerName;
  if (!order.node.empty()) pin_to_node(spec, order.node);
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", metadata_of(job, order, template_of(job, order.role, context), main_name)},
          {"spec", std::move(spec)}};
}

std::string replica_url(const std::string& pod, const std::string& ns, int port) {
  return fmt::format("{}.{}:{}", pod, ns, port);
}

}  // namespace nervex::job
