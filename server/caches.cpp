#include "server/caches.h"

#include <fmt/format.h>

#include "gang/slot.h"
#include "job/counts.h"
#include "job/names.h"

namespace nervex::server {
namespace {

std::string path_of_one(const kube::ResourceKind& kind, const std::string& key) {
  const auto slash = key.find('/');
  return fmt::format("{}?fieldSelector=metadata.name%3D{}",
                     kube::api_path(kind, key.substr(0, slash)),
                     kube::percent_encode(key.substr(slash + 1)));
}

}  // namespace

Result<kube::Pod> decode_pod(std::string_view text) {
  static const kube::PodFilter kFilter = gang::with_slot_annotations(job::pod_filter());
  return kube::decode_pod(text, kFilter);
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

void add_watches(kube::Reflectors& watches, Stores& stores, const std::string& aggregator_config) {
  const std::string pods = kube::api_path(kube::kPods);
  watches.add("pods", kube::with_label(pods, job::kGroupLabel, job::kGroupLabelValue), stores.pods,
              kube::sink_into<kube::Pod>(stores.pods, decode_pod, nullptr));
  watches.add("nervexjobs", kube::api_path(kube::kNervexJobs), stores.jobs,
              kube::sink_into<job::Job>(stores.jobs, job::parse_job, nullptr));
  watches.add("podgroups", kube::api_path(kube::kPodGroups), stores.groups,
              kube::sink_into<gang::PodGroup>(stores.groups, gang::parse_pod_group, nullptr));
  watches.add("nodes", kube::api_path(kube::kNodes), stores.gpu_nodes,
              kube::sink_into<GpuNode>(stores.gpu_nodes, decode_gpu_node, nullptr));
  watches.add("aggregatorconfigs", path_of_one(kube::kAggregatorConfigs, aggregator_config),
              stores.aggregator_configs,
              kube::sink_into<AggregatorConfig>(stores.aggregator_configs,
                                                job::parse_aggregator_config, nullptr));
}

}  // namespace nervex::server
