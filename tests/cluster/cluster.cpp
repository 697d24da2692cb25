#include "tests/cluster/cluster.h"

#include <algorithm>

#include "job/names.h"
#include "tests/support/gang_builders.h"
#include "tests/support/job_builders.h"

namespace nervex::testing {
namespace {

using kube::string_at;

Json ready_condition(bool ready) { return {{"status", ready ? "True" : "False"}}; }

}  // namespace

Json with_condition(const Json& conditions, const std::string& type, Json condition) {
  Json all = Json::array();
  for (const Json& other : conditions) {
    if (string_at(other, {"type"}) != type) all.push_back(other);
  }
  condition["type"] = type;
  all.push_back(std::move(condition));
  return all;
}

// ---- nodes

void Cluster::add_node(const std::string& name, std::int64_t gpus, std::int64_t cores,
                       const std::string& zone) {
  Json labels = Json::object();
  if (!zone.empty()) labels["topology.kubernetes.io/zone"] = zone;
  api.add(kube::kNodes, "",
          {{"apiVersion", "v1"},
           {"kind", "Node"},
           {"metadata", {{"name", name}, {"labels", labels}}},
           {"spec", Json::object()},
           {"status",
            {{"allocatable", kube::encode_resources(capacity(gpus, cores))},
             {"conditions", with_condition(Json::array(), "Ready", ready_condition(true))}}}});
}

bool Cluster::is_up(const std::string& node) const {
  const Json object = api.get(kube::kNodes, "", node);
  return object.is_object() && object["status"]["conditions"][0]["status"] == "True";
}

void Cluster::set_ready(const std::string& node, bool ready, const char* status_if_not) {
  const Json condition = {{"status", ready ? "True" : status_if_not},
                          {"lastTransitionTime", to_rfc3339(clock.now())}};
  api.change(kube::kNodes, "", node,
             {{"status", {{"conditions", with_condition(Json::array(), "Ready", condition)}}}});
}

void Cluster::set_cordoned(const std::string& node, bool cordoned) {
  api.change(kube::kNodes, "", node, {{"spec", {{"unschedulable", cordoned}}}});
}

void Cluster::set_tainted(const std::string& node, bool tainted) {
  Json taints = Json::array();
  if (tainted) taints.push_back({{"key", "maintenance"}, {"effect", "NoSchedule"}});
  api.change(kube::kNodes, "", node, {{"spec", {{"taints", taints}}}});
}

void Cluster::delete_node(const std::string& node) { api.remove(kube::kNodes, "", node); }

void Cluster::repair_node(const std::string& node) {
  set_ready(node, true);
  api.change(kube::kNodes, "", node,
             {{"spec", {{"taints", Json::array()}, {"unschedulable", false}}}});
}

// ---- pods

void Cluster::add_pod(const NewPod& pod) {
  kube::Resources requests = pod.requests;
  requests.set("pods", 0);  // which each has, and no container asks for
  Json container = {{"name", "main"},
                    {"resources", {{"requests", kube::encode_resources(requests)}}}};
  for (const int port : pod.host_ports) container["ports"].push_back({{"hostPort", port}});
  Json spec = {{"containers", Json::array({container})}};
  for (const std::string& claim : pod.claims) {
    spec["volumes"].push_back({{"name", claim}, {"persistentVolumeClaim", {{"claimName", claim}}}});
  }
  if (!pod.node.empty()) spec["nodeName"] = pod.node;
  if (!pod.scheduler.empty()) spec["schedulerName"] = pod.scheduler;
  api.add(kube::kPods, kNamespace,
          {{"apiVersion", "v1"},
           {"kind", "Pod"},
           {"metadata",
            {{"name", pod.name}, {"namespace", kNamespace}, {"annotations", pod.annotations}}},
           {"spec", spec},
           {"status", {{"phase", "Pending"}}}});
}

void Cluster::bind_pod(const std::string& name, const std::string& node) {
  api.change(kube::kPods, kNamespace, name, {{"spec", {{"nodeName", node}}}});
}

// ---- kubelets

bool Cluster::admits(const PodSeen& pod) const {
  const NodeSeen* node = view.node(pod.node);
  if (node == nullptr) return false;
  const auto is_in = [](const PodSeen& other) { return other.phase == "Running"; };
  const Sums left = view.left_on(*node, is_in);
  for (const auto& [name, amount] : pod.requests) {
    const auto has = left.find(name);
    if (has == left.end() || has->second < amount) return false;
  }
  return pod.port == 0 ||
         std::none_of(view.pods().begin(), view.pods().end(), [&](const auto& entry) {
           const PodSeen& other = entry.second;
           return other.node == pod.node && is_in(other) && other.port == pod.port;
         });
}

void Cluster::change_status(const std::string& name, Json status, bool ready) {
  const Json before = api.get(kube::kPods, kNamespace, name);
  Json conditions = Json::array();
  for (const Json& condition : kube::array_at(before, {"status", "conditions"})) {
    // The API server sets it with the binding; FakeApi does not.
    if (string_at(condition, {"type"}) != "PodScheduled") conditions.push_back(condition);
  }
  status["conditions"] = with_condition(conditions, "Ready", ready_condition(ready));
  if (kube::find(before, {"status", "startTime"}) == nullptr) {
    status["startTime"] = to_rfc3339(clock.now());
  }
  api.change(kube::kPods, kNamespace, name, {{"status", status}});
}

void Cluster::run_pod(const std::string& name) {
  ++addresses_;
  const std::string address = fmt::format("10.{}.{}.{}", addresses_ / 65'536 % 256,
                                          addresses_ / 256 % 256, addresses_ % 256);
  change_status(name, {{"phase", "Running"}, {"podIP", address}}, true);
}

void Cluster::reject_pod(const std::string& name, const std::string& reason) {
  change_status(name, {{"phase", "Failed"}, {"reason", reason}}, false);
}

void Cluster::end_pod(const std::string& name, bool well) {
  const Json main = {
      {"name", job::kMainContainer},
      {"state",
       {{"terminated", {{"exitCode", well ? 0 : 1}, {"finishedAt", to_rfc3339(clock.now())}}}}}};
  change_status(
      name, {{"phase", well ? "Succeeded" : "Failed"}, {"containerStatuses", Json::array({main})}},
      false);
}

void Cluster::evict_pod(const std::string& name) {
  change_status(name, {{"phase", "Failed"}, {"reason", "Evicted"}}, false);
}

// ---- users

void Cluster::add_aggregator_config() {
  api.add(kube::kAggregatorConfigs, "nervex-system",
          {{"metadata", {{"name", "aggregator-config"}}},
           {"spec", {{"aggregator", {{"template", a_template()}}}}}});
}

void Cluster::remove_aggregator_config() {
  api.remove(kube::kAggregatorConfigs, "nervex-system", "aggregator-config");
}

}  // namespace nervex::testing
