#include "tests/extender/cluster.h"

#include <algorithm>

#include "base/log.h"
#include "tests/support/error_message.h"

namespace nervex::testing {
namespace {

void feed(const kube::ReflectorSink& sink, const FakeApi& api, const kube::ResourceKind& kind) {
  sink.begin_list();
  const std::string version = std::to_string(api.resource_version());
  for (const Json& object : api.list(kind)) (void)sink.upsert(kube::to_text(object));
  sink.end_list(version);
}

Json node_status(const kube::Node& node) {
  return Json{{"allocatable", kube::encode_resources(node.allocatable)},
              {"conditions",
               Json::array({{{"type", "Ready"}, {"status", node.ready ? "True" : "False"}}})}};
}

Json pod_json(const std::string& name, kube::Resources requests) {
  requests.set("pods", 0);
  return Json{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"name", name}, {"namespace", kNs}}},
      {"spec",
       {{"schedulerName", "nervex-scheduler"},
        {"containers",
         Json::array({{{"name", "main"},
                       {"resources", {{"requests", kube::encode_resources(requests)}}}}})}}}};
}

}  // namespace

Cluster::Cluster(const extender::HoldOptions& options, bool by_real_clock)
    : holds(plans, by_real_clock ? static_cast<const Clock&>(real_clock) : clock, options) {
  set_log_level(LogLevel::kError);
  plans.observe_folds([this](const std::string& uid) { holds.group_changed(uid); });
  planner.begin_cycles_with([this] { return lost_nodes.mark_pods(); });
}

void Cluster::see_nodes() {
  feed(node_sink(nodes, plans, planner, &lost_nodes), api, kube::kNodes);
}
void Cluster::see_pods() {
  feed(pod_sink(pods, plans, holds, planner, &lost_nodes), api, kube::kPods);
}
void Cluster::see_groups() {
  feed(group_sink(groups, plans, holds, planner), api, kube::kPodGroups);
}

void Cluster::see_volumes() {
  feed(claim_sink(volumes.claims, plans, planner), api, kube::kPersistentVolumeClaims);
  feed(volume_sink(volumes.volumes, plans, planner), api, kube::kPersistentVolumes);
}

void Cluster::see_quotas() { feed(quota_sink(quotas, plans, planner), api, kube::kResourceQuotas); }

void Cluster::see() {
  see_quotas();
  see_volumes();
  see_nodes();
  see_pods();
  see_groups();
}

void Cluster::add_node(const std::string& name, std::int64_t gpus, std::int64_t cores) {
  const kube::Node node = a_node(name, gpus, cores);
  api.add(kube::kNodes, "",
          {{"apiVersion", "v1"},
           {"kind", "Node"},
           {"metadata", {{"name", name}}},
           {"spec", Json::object()},
           {"status", node_status(node)}});
}

void Cluster::set_ready(const std::string& node, bool ready) {
  api.change(kube::kNodes, "", node,
             {{"status",
               {{"conditions",
                 Json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}});
}

void Cluster::add_group(const std::string& name, const std::vector<gang::MemberSet>& members,
                        int queued, int priority) {
  const gang::PodGroup group = a_group(name, members, queued, priority);
  api.add(kube::kPodGroups, kNs,
          {{"apiVersion", gang::kApiVersion},
           {"kind", gang::kKind},
           {"metadata", {{"name", name}, {"namespace", kNs}}},
           {"spec", gang::encode_spec(group.spec)}});
}

void Cluster::set_members(const std::string& name, const std::vector<gang::MemberSet>& members) {
  gang::PodGroupSpec spec = group(name).spec;
  spec.members = members;
  api.change(kube::kPodGroups, kNs, name, {{"spec", gang::encode_spec(spec)}});
}

gang::PodGroup Cluster::group(const std::string& name) const {
  return *gang::decode_pod_group(api.get(kube::kPodGroups, kNs, name));
}

std::string Cluster::planned_nodes(const std::string& name, std::string_view gang_name) const {
  const gang::PodGroup live = group(name);
  const gang::GangStatus* gang = gang::find_gang(live.status, gang_name);
  if (gang == nullptr) return "undecided";
  std::string text;
  for (const gang::Placement& placement : gang->placements) {
    text += (text.empty() ? "" : " ") + placement.node;
  }
  return (gang->planned ? text : "waits") + (gang->committed ? "!" : "");
}

std::string Cluster::add_gang_pod(const gang::PodGroup& group, const gang::Placement& placement) {
  std::string name = group.meta.name + "-" + placement.role + "-" +
                     std::to_string(placement.slot.ordinal) + "-" +
                     std::to_string(placement.slot.incarnation);
  kube::Resources requests;
  for (const gang::MemberSet& set : group.spec.members) {
    const bool is_its =
        std::find(set.slots.begin(), set.slots.end(), placement.slot) != set.slots.end();
    if (set.role == placement.role && is_its) requests = set.shape.requests;
  }
  Json pod = pod_json(name, requests);
  pod["metadata"]["annotations"] =
      gang::annotations_for({group.meta.uid, placement.role, placement.slot, placement.number});
  api.add(kube::kPods, kNs, pod);
  return name;
}

std::vector<std::string> Cluster::add_gang_pods(const std::string& name,
                                                std::string_view gang_name) {
  const gang::PodGroup live = group(name);
  std::vector<std::string> names;
  for (const gang::Placement& placement : gang::find_gang(live.status, gang_name)->placements) {
    names.push_back(add_gang_pod(live, placement));
  }
  return names;
}

void Cluster::add_plain_pod(const std::string& name, const kube::Resources& requests,
                            const std::string& node) {
  Json pod = pod_json(name, requests);
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  api.add(kube::kPods, kNs, pod);
}

kube::Pod Cluster::pod(const std::string& name) const {
  return *kube::decode_pod(kube::to_text(api.get(kube::kPods, kNs, name)), extender::pod_filter());
}

kube::FilterResult Cluster::filter(const std::string& pod_name,
                                   const std::vector<std::string>& node_names) const {
  const kube::FilterArgs args{pod(pod_name), node_names};
  return extender::filter(args, extender::filter_view(plans, args));
}

std::string Cluster::bind(const std::string& pod_name, const std::string& node) {
  return error_message(
      binder.bind({pod_name, kNs, pod(pod_name).meta.uid, node}, [] { return false; }));
}

}  // namespace nervex::testing
