#include "controller/watches.h"

#include <utility>

#include "job/names.h"

namespace nervex::controller {
namespace {

// Other people's pods and services are of no interest here, and many.
std::string path_of_ours(const kube::ResourceKind& kind) {
  return fmt::format("{}?labelSelector={}%3D{}", kube::api_path(kind), job::kGroupLabel,
                     job::kGroupLabelValue);
}

template <typename T>
std::function<void(const T&)> add_owner_to(kube::WorkQueue& queue) {
  return [&queue](const T& object) {
    const std::string key = owner_job_key(object.meta);
    if (!key.empty()) queue.add(key);
  };
}

}  // namespace

template <typename T>
void Watches::add(kube::Api& api, const char* name, std::string path, kube::Store<T>& store,
                  Result<T> (*decode)(std::string_view), std::function<void(const T&)> changed) {
  kube::ReflectorOptions options;
  options.path = std::move(path);
  auto sink = kube::sink_into<T>(
      store, decode, [changed = std::move(changed)](const auto& before, const auto& after) {
        changed(after ? *after : *before);
      });
  watches_.push_back({name, std::make_unique<kube::Reflector>(api, options, std::move(sink))});
}

Watches::Watches(kube::Api& api, Caches& caches, kube::WorkQueue& queue) {
  add<job::Job>(api, "nervexjobs", kube::api_path(kube::kNervexJobs), caches.jobs,
                decode_cached_job, [&queue](const job::Job& job) { queue.add(job.meta.key()); });
  add<kube::Pod>(api, "pods", path_of_ours(kube::kPods), caches.pods, decode_cached_pod,
                 add_owner_to<kube::Pod>(queue));
  add<Service>(api, "services", path_of_ours(kube::kServices), caches.services, decode_service,
               add_owner_to<Service>(queue));
  add<gang::PodGroup>(api, "podgroups", kube::api_path(kube::kPodGroups), caches.pod_groups,
                      decode_cached_pod_group, add_owner_to<gang::PodGroup>(queue));
  add<AggregatorConfig>(api, "aggregatorconfigs", kube::api_path(kube::kAggregatorConfigs),
                        caches.aggregator_configs, decode_aggregator_config,
                        [&queue, &caches](const AggregatorConfig&) {
                          for (const auto& key : caches.jobs.keys()) queue.add(key);
                        });
}

void Watches::start() {
  for (auto& watch : watches_) watch.reflector->start();
}

std::string Watches::not_synced() const {
  for (const auto& watch : watches_) {
    if (auto reason = watch.reflector->not_synced(watch.name); !reason.empty()) return reason;
  }
  return "";
}

}  // namespace nervex::controller
