#include "extender/watches.h"

#include "extender/bind.h"

namespace nervex::extender {

kube::ReflectorSink node_sink(kube::Store<kube::Node>& store, Plans& plans, Planner& planner) {
  return kube::sink_into<kube::Node>(store, kube::decode_node,
                                     [&](const NodePtr& before, const NodePtr& after) {
                                       plans.node_changed(before, after);
                                       if (matters(before, after)) planner.wake();
                                     });
}

kube::ReflectorSink pod_sink(kube::Store<kube::Pod>& store, Plans& plans, Planner& planner) {
  kube::ReflectorSink sink = kube::sink_into<kube::Pod>(
      store,
      [filter = pod_filter()](std::string_view json) { return kube::decode_pod(json, filter); },
      [&](const PodPtr& before, const PodPtr& after) {
        plans.pod_changed(before, after);
        if (matters(before, after)) planner.wake();
      });
  sink.begin_list = [&plans, begin = std::move(sink.begin_list)] {
    plans.pod_list_begins();
    begin();
  };
  sink.end_list = [&store, &plans, &planner,
                   end = std::move(sink.end_list)](std::string_view version) {
    end(version);
    if (plans.pods_listed(store)) planner.wake();
  };
  return sink;
}

kube::ReflectorSink group_sink(kube::Store<gang::PodGroup>& store, Plans& plans, Planner& planner) {
  return kube::sink_into<gang::PodGroup>(
      store,
      [](std::string_view text) -> Result<gang::PodGroup> {
        const auto json = kube::parse_json(text);
        if (!json) return json.error();
        return gang::decode_pod_group(*json);
      },
      [&](const PodGroupPtr& before, const PodGroupPtr& after) {
        plans.group_changed((after ? after : before)->meta.key());
        planner.wake();
      });
}

namespace {

kube::ReflectorOptions all_of(const kube::ResourceKind& kind) { return {kube::api_path(kind)}; }

}  // namespace

Watches::Watches(kube::Api& api, kube::Store<kube::Node>& nodes, kube::Store<kube::Pod>& pods,
                 kube::Store<gang::PodGroup>& groups, Plans& plans, Planner& planner)
    : nodes_(api, all_of(kube::kNodes), node_sink(nodes, plans, planner)),
      pods_(api, all_of(kube::kPods), pod_sink(pods, plans, planner)),
      groups_(api, all_of(kube::kPodGroups), group_sink(groups, plans, planner)) {}

void Watches::start() {
  nodes_.start();
  pods_.start();
  groups_.start();
}

std::string Watches::not_synced() const {
  for (const auto& reason :
       {nodes_.not_synced("nodes"), pods_.not_synced("pods"), groups_.not_synced("podgroups")}) {
    if (!reason.empty()) return reason;
  }
  return "";
}

void Watches::refresh() {
  for (auto* reflector : {&nodes_, &pods_, &groups_}) reflector->refresh();
}

std::string Watches::not_fresh() const {
  for (const auto& reason :
       {nodes_.not_fresh("nodes"), pods_.not_fresh("pods"), groups_.not_fresh("podgroups")}) {
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace nervex::extender
