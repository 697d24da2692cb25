#include "server/caches.h"

#include "gang/slot.h"
#include "job/counts.h"
#include "job/names.h"

namespace nervex::server {
namespace {

kube::ReflectorOptions own_pods() {
  kube::ReflectorOptions options;
  options.path = kube::api_path(kube::kPods);
  options.path.append("?labelSelector=").append(job::kGroupLabel).append("%3D");
  options.path.append(job::kGroupLabelValue);
  return options;
}

kube::ReflectorOptions all(const kube::ResourceKind& kind) {
  kube::ReflectorOptions options;
  options.path = kube::api_path(kind);
  return options;
}

kube::ReflectorOptions one(const kube::ResourceKind& kind, const std::string& key) {
  const auto slash = key.find('/');
  kube::ReflectorOptions options;
  options.path = kube::api_path(kind, key.substr(0, slash));
  options.path.append("?fieldSelector=metadata.name%3D");
  options.path.append(kube::percent_encode(key.substr(slash + 1)));
  return options;
}

const kube::PodFilter& kept() {
  static const kube::PodFilter filter = [] {
    kube::PodFilter kept = job::pod_filter();
    for (auto& key : gang::slot_annotation_keys()) kept.annotation_keys.push_back(std::move(key));
    return kept;
  }();
  return filter;
}

}  // namespace

Result<kube::Pod> decode_own_pod(std::string_view text) { return kube::decode_pod(text, kept()); }

Result<job::Job> decode_job_text(std::string_view text) {
  const auto json = kube::parse_json(text);
  if (!json) return json.error();
  return job::decode_job(*json);
}

Result<gang::PodGroup> decode_group_text(std::string_view text) {
  const auto json = kube::parse_json(text);
  if (!json) return json.error();
  return gang::decode_pod_group(*json);
}

ClusterView view_of_cluster(const Stores& stores) {
  const auto configs = stores.aggregator_configs.all();
  ClusterView around{gpus_of(stores.gpu_nodes.all()), std::nullopt};
  if (!configs.empty()) around.aggregator_port = configs.front()->port;
  return around;
}

int aggregator_port(const Stores& stores) {
  const auto configs = stores.aggregator_configs.all();
  return configs.empty() ? job::default_port(job::Role::kAggregator) : configs.front()->port;
}

Caches::Caches(kube::Api& api, Stores& stores, const std::string& aggregator_config)
    : pods_(api, own_pods(), kube::sink_into<kube::Pod>(stores.pods, decode_own_pod, nullptr)),
      jobs_(api, all(kube::kNervexJobs),
            kube::sink_into<job::Job>(stores.jobs, decode_job_text, nullptr)),
      groups_(api, all(kube::kPodGroups),
              kube::sink_into<gang::PodGroup>(stores.groups, decode_group_text, nullptr)),
      nodes_(api, all(kube::kNodes),
             kube::sink_into<GpuNode>(stores.gpu_nodes, decode_gpu_node, nullptr)),
      aggregator_configs_(api, one(kube::kAggregatorConfigs, aggregator_config),
                          kube::sink_into<AggregatorConfig>(stores.aggregator_configs,
                                                            decode_aggregator_config, nullptr)) {}

void Caches::start() {
  pods_.start();
  jobs_.start();
  groups_.start();
  nodes_.start();
  aggregator_configs_.start();
}

std::string Caches::not_ready() const {
  for (const auto& reason :
       {pods_.not_synced("pods"), jobs_.not_synced("nervexjobs"), groups_.not_synced("podgroups"),
        nodes_.not_synced("nodes"), aggregator_configs_.not_synced("aggregatorconfigs")}) {
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace nervex::server
