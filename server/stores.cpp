#include "server/stores.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "gang/slot.h"
#include "job/counts.h"
#include "job/kept.h"
#include "job/names.h"

namespace nervex::server {
namespace {

std::string path_of_one(const kube::ResourceKind& kind, const kube::NamespacedName& object) {
  return fmt::format("{}?fieldSelector=metadata.name%3D{}", kube::api_path(kind, object.ns),
                     kube::percent_encode(object.name));
}

template <typename T>
using Live = Result<std::shared_ptr<const T>>;

// A null pointer if the object does not exist. All other failures may be temporary, such as a
// missing right of ours: the caller did nothing wrong.
template <typename T>
Live<T> read(kube::Api& api, const kube::ResourceKind& kind, const std::string& ns,
             const std::string& name, Result<T> (*decode)(std::string_view)) {
  const auto text = api.send({"GET", kube::api_path(kind, ns, name), "", ""});
  if (!text) {
    if (text.error().code == Code::kNotFound) return std::shared_ptr<const T>();
    return Error{Code::kTransient, text.error().message};
  }
  auto object = decode(*text);
  if (!object) return Error{Code::kTransient, object.error().message};
  return std::make_shared<const T>(*std::move(object));
}

// Object names follow RFC 1123, in lower case. Other texts are not looked up: the API server would
// parse them as a path, where a slash, even escaped, starts the next part and ".." is a step back.
bool may_exist(const std::string& name) {
  const auto is_plain = [](char c) {
    return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '-' || c == '.';
  };
  return !name.starts_with('.') && std::all_of(name.begin(), name.end(), is_plain);
}

}  // namespace

Result<kube::Pod> decode_pod(std::string_view text) {
  static const kube::PodFilter kFilter = gang::with_slot_annotations(job::pod_filter());
  return kube::decode_pod(text, kFilter);
}

Result<gang::PodGroup> decode_group(std::string_view text) {
  auto group = gang::parse_pod_group(text);
  if (!group) return group;
  for (gang::Gang& gang : group->spec.gangs) {
    for (gang::MemberSet& set : gang.members) {
      set.shape = {};
      set.resource_claims = {};
    }
  }
  return group;
}

ClusterView cluster_view(const Stores& stores) {
  const auto configs = stores.aggregator_configs.all();
  ClusterView cluster{count_gpus(stores.gpu_nodes.all()), std::nullopt};
  if (!configs.empty()) cluster.aggregator_port = configs.front()->port;
  return cluster;
}

int aggregator_port(const Stores& stores) {
  const auto configs = stores.aggregator_configs.all();
  return configs.empty() ? job::default_port(job::Role::kAggregator) : configs.front()->port;
}

void add_watches(kube::Reflectors& watches, Stores& stores,
                 const kube::NamespacedName& aggregator_config) {
  const std::string pods = kube::api_path(kube::kPods);
  watches.add("pods", kube::with_label(pods, job::kGroupLabel, job::kGroupLabelValue), stores.pods,
              kube::sink_into<kube::Pod>(stores.pods, decode_pod, nullptr));
  watches.add("nervexjobs", kube::api_path(kube::kNervexJobs), stores.jobs,
              kube::sink_into<job::Job>(stores.jobs, job::parse_without_templates, nullptr));
  watches.add("podgroups", kube::api_path(kube::kPodGroups), stores.groups,
              kube::sink_into<gang::PodGroup>(stores.groups, decode_group, nullptr));
  watches.add("nodes", kube::api_path(kube::kNodes), stores.gpu_nodes,
              kube::sink_into<GpuNode>(stores.gpu_nodes, decode_gpu_node, nullptr));
  watches.add("aggregatorconfigs", path_of_one(kube::kAggregatorConfigs, aggregator_config),
              stores.aggregator_configs,
              kube::sink_into<AggregatorConfig>(stores.aggregator_configs,
                                                job::parse_aggregator_config, nullptr));
}

Caller Lookup::cached(const std::string& ns, const std::string& pod) const {
  Caller caller;
  caller.pod = stores_.pods.get(ns + "/" + pod);
  if (!caller.pod || !caller.pod->meta.owner) return caller;
  caller.job = stores_.jobs.get(ns + "/" + caller.pod->meta.owner->name);
  if (!caller.job) return caller;
  const int attempt = caller.job->status.attempt;
  caller.group = stores_.groups.get(ns + "/" + job::pod_group_name(*caller.job, attempt));
  return caller;
}

Result<Caller> Lookup::live(const std::string& ns, const std::string& pod) const {
  Caller caller;
  if (!may_exist(ns) || !may_exist(pod)) return caller;
  auto found_pod = read<kube::Pod>(api_, kube::kPods, ns, pod, decode_pod);
  if (!found_pod) return found_pod.error();
  caller.pod = *found_pod;
  if (!caller.pod || !caller.pod->meta.owner) return caller;

  const std::string& owner = caller.pod->meta.owner->name;
  if (!may_exist(owner)) return caller;  // the API server does not validate an owner's name
  auto found_job = read<job::Job>(api_, kube::kNervexJobs, ns, owner, job::parse_without_templates);
  if (!found_job) return found_job.error();
  caller.job = *found_job;
  if (!caller.job) return caller;

  const std::string group = job::pod_group_name(*caller.job, caller.job->status.attempt);
  auto found_group = read<gang::PodGroup>(api_, kube::kPodGroups, ns, group, decode_group);
  if (!found_group) return found_group.error();
  caller.group = *found_group;
  return caller;
}

Result<Caller> Lookup::live_job(const Caller& before) const {
  const kube::Meta& meta = before.job->meta;
  auto job =
      read<job::Job>(api_, kube::kNervexJobs, meta.ns, meta.name, job::parse_without_templates);
  if (!job) return job.error();
  const bool same_attempt =
      *job && (*job)->meta.uid == meta.uid && (*job)->status.attempt == before.job->status.attempt;
  if (!same_attempt) return live(before.pod->meta.ns, before.pod->meta.name);
  return Caller{before.pod, *job, before.group};
}

Error Lookup::why_not_there(const std::string& ns, const std::string& pod) const {
  constexpr std::string_view kCoordinator = "-coordinator";
  if (!std::string_view(pod).ends_with(kCoordinator)) return no_such_pod(nullptr);
  const auto job = stores_.jobs.get(ns + "/" + pod.substr(0, pod.size() - kCoordinator.size()));
  return no_such_pod(job.get());
}

}  // namespace nervex::server
