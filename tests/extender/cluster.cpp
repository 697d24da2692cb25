#include "tests/extender/cluster.h"

#include "base/log.h"
#include "tests/support/error_message.h"

namespace nervex::testing {
namespace {

const SystemClock kRealClock;

}  // namespace

ExtenderCluster::ExtenderCluster(const extender::HoldOptions& options, bool by_real_clock)
    : ExtenderProcess(api, api, clock,
                      {.holds = options, .hold_clock = by_real_clock ? &kRealClock : nullptr}) {
  set_log_level(LogLevel::kError);
}

void ExtenderCluster::see_nodes() { node_feed->list(api.resource_version()); }
void ExtenderCluster::see_pods() { pod_feed->list(api.resource_version()); }
void ExtenderCluster::see_groups() { group_feed->list(api.resource_version()); }
void ExtenderCluster::see_volumes() {
  claim_feed->list(api.resource_version());
  volume_feed->list(api.resource_version());
}
void ExtenderCluster::see_quotas() { quota_feed->list(api.resource_version()); }

void ExtenderCluster::see() {
  see_quotas();
  see_volumes();
  see_nodes();
  see_pods();
  see_groups();
}

void ExtenderCluster::add_group(const std::string& name, const std::vector<Member>& members,
                                int queued, int priority) {
  const gang::PodGroup group = a_group(name, members, queued, priority);
  api.add(kube::kPodGroups, kNs,
          {{"apiVersion", gang::kApiVersion},
           {"kind", gang::kKind},
           {"metadata", {{"name", name}, {"namespace", kNs}}},
           {"spec", gang::encode_spec(group.spec)}});
}

void ExtenderCluster::set_members(const std::string& name, const std::vector<Member>& members) {
  gang::PodGroupSpec spec = group(name).spec;
  spec.gangs = make_gangs(members);
  api.change(kube::kPodGroups, kNs, name, {{"spec", gang::encode_spec(spec)}});
}

gang::PodGroup ExtenderCluster::group(const std::string& name) const {
  return *gang::decode_pod_group(api.get(kube::kPodGroups, kNs, name));
}

std::string ExtenderCluster::planned_nodes(const std::string& name,
                                           std::string_view gang_name) const {
  const gang::PodGroup live = group(name);
  const gang::GangStatus* gang = gang::find_gang(live.status, gang_name);
  if (gang == nullptr) return "undecided";
  std::string text;
  for (const gang::Placement& placement : gang->placements) {
    text += (text.empty() ? "" : " ") + placement.node;
  }
  return (gang->planned ? text : "waits") + (gang->committed ? "!" : "");
}

std::string ExtenderCluster::add_gang_pod(const gang::PodGroup& group,
                                          const gang::Placement& placement) {
  NewPod pod{.name = fmt::format("{}-{}-{}-{}", group.meta.name, placement.role,
                                 placement.slot.ordinal, placement.slot.incarnation),
             .scheduler = std::string(gang::kSchedulerName),
             .annotations = gang::annotations_for(
                 {group.meta.uid, placement.role, placement.slot, placement.number})};
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    if (gang::wants(set, placement.role, placement.slot)) pod.requests = set.shape.requests;
  }
  add_pod(pod);
  return pod.name;
}

std::vector<std::string> ExtenderCluster::add_gang_pods(const std::string& name,
                                                        std::string_view gang_name) {
  const gang::PodGroup live = group(name);
  std::vector<std::string> names;
  for (const gang::Placement& placement : gang::find_gang(live.status, gang_name)->placements) {
    names.push_back(add_gang_pod(live, placement));
  }
  return names;
}

std::vector<std::string> ExtenderCluster::plan_and_add_pods(const std::string& name,
                                                            std::string_view gang_name) {
  see();
  planner.schedule_once();
  auto names = add_gang_pods(name, gang_name);
  see();
  return names;
}

void ExtenderCluster::add_plain_pod(const std::string& name, const kube::Resources& requests,
                                    const std::string& node) {
  add_pod({.name = name,
           .requests = requests,
           .node = node,
           .scheduler = std::string(gang::kSchedulerName)});
}

void ExtenderCluster::add_daemon_pod(const std::string& name, const kube::Resources& requests,
                                     const std::string& node) {
  add_plain_pod(name, requests);
  const Json owner = kube::encode_controller_ref({"apps/v1", "DaemonSet", "agent", "agent-uid"});
  const Json term = {{"matchFields", Json::array({{{"key", "metadata.name"},
                                                   {"operator", "In"},
                                                   {"values", Json::array({node})}}})}};
  const Json required = {{"nodeSelectorTerms", Json::array({term})}};
  api.change(
      kube::kPods, kNs, name,
      {{"metadata", {{"ownerReferences", Json::array({owner})}}},
       {"spec",
        {{"affinity",
          {{"nodeAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", required}}}}}}}});
}

kube::Pod ExtenderCluster::pod(const std::string& name) const {
  return *kube::decode_pod(kube::to_text(api.get(kube::kPods, kNs, name)), extender::pod_filter());
}

kube::FilterResult ExtenderCluster::filter(const std::string& pod_name,
                                           const std::vector<std::string>& node_names) const {
  const kube::FilterArgs args{pod(pod_name), node_names};
  return planner::filter(args, extender::filter_view(cache.binds, args));
}

std::string ExtenderCluster::bind(const std::string& pod_name, const std::string& node) {
  return error_message(
      binder.bind({pod_name, kNs, pod(pod_name).meta.uid, node}, [] { return false; }));
}

}  // namespace nervex::testing
