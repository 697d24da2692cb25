// From a template to the pod spec that is planned for, before environment and ports. Also the pin.
#include "job/json_edit.h"
#include "job/pod_manifest.h"
#include "job/slots.h"
#include "kube/model/quantity.h"

namespace nervex::job {
namespace {

const Json& null_json() {
  static const Json kNull;
  return kNull;
}

const Json& role_template(const std::optional<RoleSpec>& role) {
  return role ? role->pod_template.get() : null_json();
}

// Zero or an absent amount keeps the template's value.
void set_amount(Json& container, const char* resource, const std::string& quantity) {
  const auto amount = kube::parse_quantity(quantity, kube::Scale::kMilli);
  if (!amount || *amount == 0) return;
  for (const char* kind : {"requests", "limits"}) {
    object_at(object_at(container, "resources"), kind)[resource] = quantity;
  }
}

// GPUs of this pod: the entry's, or its share of a multi-GPU learner's.
std::string pod_gpus(const RequestEntry& entry, Slot slot) {
  if (!is_multi_gpu(entry)) return entry.gpus;
  const auto place = place_of_ddp_learner(entry, slot);
  return place ? std::to_string(place->gpus) : "";
}

void set_resources(Json& spec, const RequestEntry& entry, Slot slot) {
  const int main = main_container(spec);
  if (main < 0) return;
  Json& container = spec["containers"][static_cast<std::size_t>(main)];
  set_amount(container, "cpu", entry.cpus);
  set_amount(container, "nvidia.com/gpu", pod_gpus(entry, slot));
  set_amount(container, "memory", entry.memory);
}

// Adds the job's volumes to its own templates. The AggregatorConfig's template cannot mount unknown
// volumes.
void add_volumes(Json& spec, const Json& volumes) {
  if (volumes.empty()) return;
  Json all = kube::array_at(spec, {"volumes"});
  all.insert(all.end(), volumes.begin(), volumes.end());
  spec["volumes"] = std::move(all);
}

constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

bool has_demand(const Json& term) {
  return !kube::array_at(term, {"matchExpressions"}).empty() ||
         !kube::array_at(term, {"matchFields"}).empty();
}

Json with_pin(Json term, const std::string& node) {
  append_to(term, "matchFields",
            {{"key", "metadata.name"}, {"operator", "In"}, {"values", Json::array({node})}});
  return term;
}

// A pod with nodeName bypasses the scheduler and so its gang. A node constraint has the effect that
// its author wants.
void turn_node_name_into_constraint(Json& spec) {
  const std::string node = kube::string_at(spec, {"nodeName"});
  spec.erase("nodeName");
  if (!node.empty()) pin_to_node(spec, node);
}

}  // namespace

const Json& role_template(const Job& job, Role role, const PodContext& context) {
  switch (role) {
    case Role::kCoordinator:
      return job.spec.coordinator_template.get();
    case Role::kAggregator:
      return context.aggregator_template.get();
    case Role::kCollector:
      return role_template(job.spec.collector);
    case Role::kLearner:
    case Role::kDdpLearner:
      return role_template(job.spec.learner);
  }
  return null_json();
}

Json pod_spec(const Job& job, Role role, Slot slot, const RequestEntry* entry,
              const PodContext& context) {
  const Json* written = kube::find(role_template(job, role, context), {"spec"});
  Json spec = written != nullptr && written->is_object() ? *written : Json::object();
  if (entry != nullptr && role != Role::kAggregator) set_resources(spec, *entry, slot);
  if (role != Role::kAggregator) add_volumes(spec, job.spec.volumes);
  if (!job.spec.priority_class_name.empty()) {
    spec["priorityClassName"] = job.spec.priority_class_name;
  }
  if (role == Role::kCoordinator && kube::string_at(spec, {"restartPolicy"}).empty()) {
    spec["restartPolicy"] = "Never";
  }
  turn_node_name_into_constraint(spec);
  return spec;
}

void pin_to_node(Json& pod_spec, const std::string& node) {
  const Json terms =
      kube::array_at(pod_spec, {"affinity", "nodeAffinity", kRequired, "nodeSelectorTerms"});
  Json pinned = Json::array();
  for (const auto& term : terms) pinned.push_back(has_demand(term) ? with_pin(term, node) : term);
  if (pinned.empty()) pinned.push_back(with_pin(Json::object(), node));
  Json& affinity = object_at(object_at(pod_spec, "affinity"), "nodeAffinity");
  object_at(affinity, kRequired)["nodeSelectorTerms"] = std::move(pinned);
}

void leave_spread_to_planner(Json& pod_spec) {
  const auto spreads = pod_spec.find("topologySpreadConstraints");
  if (spreads == pod_spec.end() || !spreads->is_array()) return;
  for (Json& spread : *spreads) {
    if (!spread.is_object()) continue;
    if (kube::string_at(spread, {"whenUnsatisfiable"}) == "ScheduleAnyway") continue;
    if (!kube::string_at(spread, {"nodeAffinityPolicy"}).empty()) {
      spread["nodeAffinityPolicy"] = "Honor";
    }
    spread.erase("minDomains");
  }
}

}  // namespace nervex::job
