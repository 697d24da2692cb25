#include "job/pod_manifest.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "job/json_edit.h"
#include "job/ports.h"
#include "job/server_token.h"
#include "job/slots.h"

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

// ---- name, labels and owner of a pod or service

Json string_map_at(const Json& from, const char* part) {
  const Json* at = kube::find(from, {"metadata", part});
  return at != nullptr && at->is_object() ? *at : Json::object();
}

Json role_labels(const Job& job, Role role, const Json& from) {
  Json labels = string_map_at(from, "labels");
  labels[std::string(kGroupLabel)] = kGroupLabelValue;
  labels[std::string(kJobLabel)] = job.meta.name;
  labels[std::string(kControllerLabel)] = kControllerLabelValue;
  labels[std::string(kRoleLabel)] = to_string(role);
  return labels;
}

// metadata of a pod or service. Keeps metadata.labels and metadata.annotations of `from` (a
// PodTemplateSpec; null: none); the contract's labels win, and the job is the owner.
Json object_meta(const Job& job, Role role, const std::string& name, const Json& from) {
  Json labels = role_labels(job, role, from);
  labels[std::string(kPodNameLabel)] = name;
  return {{"name", name},
          {"namespace", job.meta.ns},
          {"labels", std::move(labels)},
          {"annotations", string_map_at(from, "annotations")},
          {"ownerReferences",
           Json::array({kube::encode_controller_ref(
               {std::string(kApiVersion), std::string(kKind), job.meta.name, job.meta.uid})})}};
}

// A template's own label of that key would be counted, so it goes.
void set_base_replica_label(Role role, bool is_requested, Json& labels) {
  labels.erase(std::string(kBaseReplicaLabel));
  if (is_requested || (role != Role::kCollector && role != Role::kLearner)) return;
  labels[std::string(kBaseReplicaLabel)] = kBaseReplicaLabelValue;
}

// Velero leaves out objects with this label. The policy nervex-pod-marks would refuse to restore a
// job's pods, and a part of them would be a part of a gang: the controller creates them from the
// job. A template's own value stays.
constexpr std::string_view kBackupLabel = "velero.io/exclude-from-backup";

Json make_metadata(const Job& job, const PodOrder& order, const Json& pod_template,
                   const std::string& main_name) {
  Json meta = object_meta(job, order.role, pod_name(job, order.role, order.slot), pod_template);
  Json& labels = object_at(meta, "labels");
  set_base_replica_label(order.role, order.entry != nullptr, labels);
  labels.emplace(kBackupLabel, "true");
  Json& annotations = object_at(meta, "annotations");
  for (const auto& [key, value] : order.annotations) annotations[key] = value;
  annotations.erase(std::string(kMainContainerAnnotation));  // of the template
  if (!main_name.empty() && main_name != kMainContainer) {
    annotations[std::string(kMainContainerAnnotation)] = main_name;
  }
  const bool is_own_aggregator = order.role == Role::kAggregator && order.slot.ordinal == 0;
  if (!is_own_aggregator) meta["finalizers"] = Json::array({kTrackingFinalizer});
  return meta;
}

// ---- environment variables in a pod's containers (contract section 2)

using Environment = std::vector<std::pair<std::string, std::string>>;

std::string_view port_variable(Role role) {
  switch (role) {
    case Role::kCoordinator:
      return "COORDINATOR_PORT";
    case Role::kAggregator:
      return "AGGREGATOR_PORT";
    case Role::kCollector:
      return "COLLECTOR_PORT";
    case Role::kLearner:
    case Role::kDdpLearner:
      return "LEARNER_PORT";
  }
  return "";
}

// Without a slot: URL of the job's only pod of that role.
std::string pod_url(const Job& job, Role role, const PodContext& context, Slot slot = {}) {
  return replica_url(pod_name(job, role, slot), job.meta.ns,
                     main_port(role_template(job, role, context), role));
}

// How the pods of one multi-GPU learner find each other, in the form of torch.distributed.
void add_ranks(Environment& environment, const Job& job, const DdpPlace& place,
               const PodContext& context) {
  std::string first = pod_name(job, Role::kDdpLearner, place.learner);
  if (context.shared_names) first += "." + job.meta.ns.str();  // no Service has the pod's name
  environment.emplace_back("WORLD_SIZE", std::to_string(place.world_size));
  environment.emplace_back("LOCAL_WORLD_SIZE", std::to_string(place.gpus));
  environment.emplace_back("START_RANK", std::to_string(place.start_rank));
  environment.emplace_back("MASTER_ADDR", place.index == 0 ? "localhost" : first);
  environment.emplace_back("MASTER_PORT", std::to_string(kMasterPort));
}

// The variables of every regular container of this pod, in output order. `entry`: the request of
// the replica; null if it was not requested.
Environment make_environment(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                             const PodContext& context) {
  const auto place = role == Role::kDdpLearner && entry != nullptr
                         ? place_of_ddp_learner(*entry, slot)
                         : std::nullopt;
  const int port = main_port(role_template(job, role, context), role);
  Environment environment = {
      {std::string(port_variable(role)), std::to_string(port)},
      {"KUBERNETES_POD_NAMESPACE", job.meta.ns},
      {"KUBERNETES_POD_NAME", pod_name(job, role, slot)},
      {"KUBERNETES_SERVER_URL", context.server_url},
      {"KUBERNETES_NERVEX_SERVER_URL", context.server_url},  // name that older clients read
      {"KUBERNETES_COORDINATOR_URL", pod_url(job, Role::kCoordinator, context)}};
  if (place) {  // it has its own aggregator, even if the job has none
    environment.emplace_back("KUBERNETES_AGGREGATOR_URL",
                             pod_url(job, Role::kAggregator, context, place->learner));
    add_ranks(environment, job, *place, context);
  } else if (context.has_aggregator) {
    environment.emplace_back("KUBERNETES_AGGREGATOR_URL", pod_url(job, Role::kAggregator, context));
  }
  if (context.server_token) environment.emplace_back(kServerTokenVariable, kServerTokenFile);
  return environment;
}

// Appends them to `container`. Drops the user's entries of the same names: tools disagree on names
// that are set twice.
void append_environment(Json& container, const Environment& environment) {
  Json kept = Json::array();
  for (const auto& entry : kube::array_at(container, {"env"})) {
    const std::string name = kube::string_at(entry, {"name"});
    const bool is_ours = std::any_of(environment.begin(), environment.end(),
                                     [&](const auto& ours) { return ours.first == name; });
    if (!is_ours) kept.push_back(entry);
  }
  for (const auto& [name, value] : environment) {
    kept.push_back({{"name", name}, {"value", value}});
  }
  container["env"] = std::move(kept);
}

}  // namespace

int main_container(const Json& pod_spec) {
  const Json& containers = kube::array_at(pod_spec, {"containers"});
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (kube::string_at(containers[i], {"name"}) == kMainContainer) return static_cast<int>(i);
  }
  return containers.empty() || !containers.front().is_object() ? -1 : 0;
}

bool restarts_by_policy(const Json& pod_spec) {
  const int main = main_container(pod_spec);
  const Json& containers = kube::array_at(pod_spec, {"containers"});
  const bool has_own =
      main >= 0 && containers[static_cast<std::size_t>(main)].contains("restartPolicy");
  const Json& of = has_own ? containers[static_cast<std::size_t>(main)] : pod_spec;
  const std::string policy = kube::string_at(of, {"restartPolicy"});
  return !policy.empty() && policy != "Never";
}

bool may_restart_in_place(const Json& pod_spec) {
  if (restarts_by_policy(pod_spec)) return true;
  const int main = main_container(pod_spec);
  for (const char* list : {"containers", "initContainers"}) {
    const bool are_regular = std::string_view(list) == "containers";
    int index = 0;
    for (const Json& container : kube::array_at(pod_spec, {list})) {
      const bool is_main = are_regular && index++ == main;
      for (const Json& rule : kube::array_at(container, {"restartPolicyRules"})) {
        if (is_main || kube::string_at(rule, {"action"}) == "RestartAllContainers") return true;
      }
    }
  }
  return false;
}

int main_port(const Json& pod_template_or_spec, Role role) {
  const Json& spec = spec_in(pod_template_or_spec);
  const int main = main_container(spec);
  if (main < 0) return default_port(role);
  const int port =
      declared_port(kube::array_at(spec, {"containers"})[static_cast<std::size_t>(main)]);
  return port != 0 ? port : default_port(role);
}

Json make_pod_labels(const Job& job, Role role, bool is_requested, const PodContext& context) {
  Json labels = role_labels(job, role, role_template(job, role, context));
  set_base_replica_label(role, is_requested, labels);
  labels.erase(std::string(kPodNameLabel));
  return labels;
}

Json pod_spec_with_ports(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                         const PodContext& context) {
  Json spec = pod_spec(job, role, slot, entry, context);
  if (const int main = main_container(spec); main >= 0) {
    declare_ports(spec["containers"][static_cast<std::size_t>(main)],
                  make_ports(job, role, slot, entry, context));
  }
  return spec;
}

Json pod_manifest(const Job& job, const PodOrder& order, const PodContext& context) {
  Json spec = pod_spec_with_ports(job, order.role, order.slot, order.entry, context);
  const Environment environment =
      make_environment(job, order.role, order.slot, order.entry, context);
  std::string main_name;
  if (const int main = main_container(spec); main >= 0) {
    Json& container = spec["containers"][static_cast<std::size_t>(main)];
    main_name = kube::string_at(container, {"name"});
    for (auto& each : spec["containers"]) {
      if (each.is_object()) append_environment(each, environment);
    }
  }
  if (context.server_token) add_server_token(spec);
  spec["schedulerName"] = kSchedulerName;
  if (order.has_node_name) {
    spec["nodeName"] = order.node;
  } else if (!order.node.empty()) {
    pin_to_node(spec, order.node);
    leave_spread_to_planner(spec);
  }
  if (context.shared_names && can_share_name(spec)) {
    spec["hostname"] = pod_name(job, order.role, order.slot);
    spec["subdomain"] = job.meta.ns.str();
  }
  return {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", make_metadata(job, order, role_template(job, order.role, context), main_name)},
      {"spec", std::move(spec)}};
}

bool can_share_name(const Json& pod_template_or_spec) {
  const Json& spec = spec_in(pod_template_or_spec);
  const Json* fqdn = kube::find(spec, {"setHostnameAsFQDN"});
  return kube::string_at(spec, {"hostname"}).empty() &&
         kube::string_at(spec, {"subdomain"}).empty() && (fqdn == nullptr || *fqdn != true);
}

Json shared_service_manifest(const std::string& ns) {
  const Json labels = {{kGroupLabel, kGroupLabelValue}, {kControllerLabel, kControllerLabelValue}};
  return {
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", {{"name", ns}, {"namespace", ns}, {"labels", labels}}},
      {"spec",
       {{"clusterIP", "None"},
        // Only a pod's first address. Without a selector the default would be both families, even
        // where the cluster has only one, and the Service could not be given a selector later.
        {"ipFamilyPolicy", "SingleStack"},
        {"publishNotReadyAddresses", true}}}};
}

Json service_manifest(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                      const PodContext& context) {
  const std::string name = pod_name(job, role, slot);
  Json ports = Json::array();
  for (const auto& port : make_ports(job, role, slot, entry, context)) {
    ports.push_back({{"name", port.name},
                     {"port", port.number},
                     {"targetPort", port.number},
                     {"protocol", "TCP"}});
  }
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", object_meta(job, role, name, Json())},
          {"spec",
           {{"clusterIP", "None"},  // headless: the name resolves to the pod itself
            {"publishNotReadyAddresses", true},
            {"selector", {{kPodNameLabel, name}}},
            {"ports", std::move(ports)}}}};
}

std::string replica_url(const std::string& pod, const std::string& ns, int port) {
  return fmt::format("{}.{}:{}", pod, ns, port);
}

}  // namespace nervex::job
