#include "server/replicas.h"

#include <fmt/format.h>

#include "job/counts.h"
#include "job/names.h"
#include "server/decide/listing.h"

namespace nervex::server {
Result<Replicas::Listed> Replicas::list(const ListQuery& query) const {
  if (query.coordinator) return list_by_coordinator(*query.ns, *query.coordinator);
  if (query.aggregator) return list_by_aggregator(*query.ns, *query.aggregator);
  if (query.name) return list_by_name(query.ns, *query.name);
  return Listed(list_all(query.ns));
}

Result<Caller> Replicas::find(const std::string& ns, const std::string& pod) const {
  Caller cached = lookup_.cached(ns, pod);
  if (is_known(cached)) return cached;
  auto live = lookup_.live(ns, pod);
  if (!live) return live;
  if (!live->pod) return about_pod(ns, pod, lookup_.why_not_there(ns, pod));
  if (const auto known = is_known(*live); !known) return about_pod(ns, pod, known.error());
  return live;
}

std::vector<PodPtr> Replicas::find_kept_pods(const job::Job& job) const {
  return kept_pods(job, stores_.pods.by_index(job.meta.uid));
}

std::vector<Listing> Replicas::list_all(const std::optional<std::string>& ns) const {
  std::vector<Listing> all;
  for (const auto& pod : stores_.pods.all()) {
    if (ns && pod->meta.ns != *ns) continue;
    if (job::pod_role(*pod) != job::Role::kCoordinator || pod->meta.deleting) continue;
    const Caller coordinator = lookup_.cached(pod->meta.ns, pod->meta.name);
    if (!is_known(coordinator)) continue;
    all.push_back(list_replicas(*coordinator.job, pod->meta.name, attempt_uid(*pod),
                                find_kept_pods(*coordinator.job), aggregator_port(stores_)));
  }
  return all;
}

Result<Replicas::Listed> Replicas::list_by_coordinator(const std::string& ns,
                                                       const std::string& name) const {
  const auto caller = find(ns, name);
  if (!caller) return caller.error();
  return Listed(list_replicas(*caller->job, name, attempt_uid(*caller->pod),
                              find_kept_pods(*caller->job), aggregator_port(stores_)));
}

Result<Replicas::Listed> Replicas::list_by_aggregator(const std::string& ns,
                                                      const std::string& name) const {
  const auto caller = find(ns, name);
  if (!caller) return caller.error();
  if (job::pod_role(*caller->pod) != job::Role::kAggregator) {
    return about_pod(ns, name, {Code::kNotFound, "it is not an aggregator"});
  }
  return Listed(list_aggregator(*caller->job, *caller->pod, find_kept_pods(*caller->job)));
}

Result<Replicas::Listed> Replicas::list_by_name(const std::optional<std::string>& ns,
                                                const std::string& name) const {
  std::vector<std::string> namespaces;
  if (ns) {
    namespaces = {*ns};
  } else {
    for (const auto& pod : stores_.pods.all()) {
      if (pod->meta.name == name) namespaces.push_back(pod->meta.ns);
    }
  }
  if (namespaces.size() > 1) {
    return Error{Code::kInvalid,
                 fmt::format("query: {} namespaces have a pod {}: add the parameter namespace",
                             namespaces.size(), name)};
  }
  if (namespaces.empty()) return Error{Code::kNotFound, fmt::format("there is no pod {}", name)};

  const auto caller = find(namespaces.front(), name);
  if (!caller) return caller.error();
  const auto one = list_one(*caller->job, *caller->pod, aggregator_port(stores_));
  if (!one || Released(*caller->job).has(*caller->pod)) {
    return about_pod(namespaces.front(), name, {Code::kNotFound, "it is not a live replica"});
  }
  return Listed(*one);
}

}  // namespace nervex::server
