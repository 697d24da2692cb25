#include "server/replicas.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "job/counts.h"
#include "job/names.h"
#include "server/listing.h"

namespace nervex::server {
namespace {

// The controller writes the same object's status, so conflicts are ordinary; each costs one
// re-read.
constexpr int kMaxTries = 10;

Error about(const std::string& ns, const std::string& pod, const Error& error) {
  return with_context(fmt::format("pod {}/{}", ns, pod), error);
}

// Whether `stored` has every entry that `wanted` adds to what the job had. Somebody else may have
// added more since.
bool holds_new_entries(const job::Requests& stored, const job::Job& before,
                       const job::Requests& wanted) {
  const auto& entries = stored.entries;
  return std::all_of(wanted.entries.begin(), wanted.entries.end(), [&](const auto& entry) {
    return entry.id < before.spec.requests.next_id ||
           std::find(entries.begin(), entries.end(), entry) != entries.end();
  });
}

// Without a node to go by all GPUs of a learner are put into one pod: a guess, which whoever adds
// nodes later may wonder about.
void say_guessed_splits(const job::Job& before, const job::Requests& after,
                        const Surroundings& around) {
  if (!around.node_gpus.empty()) return;
  for (const auto& entry : after.entries) {
    if (entry.id < before.spec.requests.next_id || !is_multi_gpu(entry)) continue;
    log_warn("no node with GPUs is known: each learner's GPUs are in one pod",
             {{"job", before.meta.key()}, {"gpus", entry.gpus}});
  }
}

}  // namespace

Result<Listing> Replicas::add(const AddRequest& request) {
  const Turns::Turn turn(turns_, fmt::format("{}/{}", request.ns, request.coordinator));
  // The first look is at the cache, which may be old: what it would refuse is looked up again.
  Caller cached = lookup_.cached(request.ns, request.coordinator);
  auto caller = decide(cached, request) ? Result<Caller>(std::move(cached))
                                        : lookup_.live(request.ns, request.coordinator);
  Error overtaken;
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    if (!caller) return caller.error();
    auto growth = decide(*caller, request);
    if (!growth) return growth.error();
    if (!growth->changes) return growth->added;
    const auto written = write(*caller->job, growth->requests);
    if (written) {
      say_guessed_splits(*caller->job, growth->requests, look_around(stores_));
      return growth->added;
    }
    if (written.error().code != Code::kExpired) return written.error();
    overtaken = written.error();
    caller = lookup_.live_job(*caller);
  }
  return about(
      request.ns, request.coordinator,
      {Code::kTransient, "the job is being changed by others, ask again: " + overtaken.message});
}

Result<Growth> Replicas::decide(const Caller& caller, const AddRequest& request) const {
  if (const auto may = may_grow(caller); !may) {
    return about(request.ns, request.coordinator, may.error());
  }
  return grow(*caller.job, pods_of(*caller.job), request, look_around(stores_));
}

// kExpired: the job was changed or deleted since it was read.
Result<Nothing> Replicas::write(const job::Job& job, const job::Requests& requests) {
  const Json patch = {
      {"metadata", {{"uid", job.meta.uid}, {"resourceVersion", job.meta.resource_version}}},
      {"spec", {{"requests", job::encode_requests(requests)}}}};
  const auto stored = kube::merge_patch(api_, kube::kNervexJobs, job.meta.ns, job.meta.name, patch);
  if (!stored) {
    const Error& error = stored.error();
    switch (error.code) {
      case Code::kConflict:
      case Code::kNotFound:
        return Error{Code::kExpired, error.message};
      case Code::kInvalid:  // by the schema or a webhook: the same request would be refused again
        return Error{Code::kConflict, error.message};
      default:
        if (error.code == Code::kTransient && was_applied(job, requests)) return ok();
        return Error{Code::kTransient, error.message};
    }
  }
  // The next request shall not be decided on a cache that lacks this one.
  if (auto now = job::decode_job(*stored)) stores_.jobs.update(job.meta.key(), *std::move(now));
  return ok();
}

// A lost reply is no refusal, and a client that is told to ask again would get its replicas twice.
bool Replicas::was_applied(const job::Job& job, const job::Requests& requests) const {
  const auto object = kube::get_object(api_, kube::kNervexJobs, job.meta.ns, job.meta.name);
  if (!object) return false;
  const auto now = job::decode_job(*object);
  return now && now->meta.uid == job.meta.uid &&
         holds_new_entries(now->spec.requests, job, requests);
}

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
  if (const auto known = is_known(*live); !known) return about(ns, pod, known.error());
  return live;
}

std::vector<PodPtr> Replicas::pods_of(const job::Job& job) const {
  return stores_.pods.by_index(job.meta.uid);
}

std::vector<Listing> Replicas::list_all(const std::optional<std::string>& ns) const {
  std::vector<Listing> all;
  for (const auto& pod : stores_.pods.all()) {
    if (ns && pod->meta.ns != *ns) continue;
    if (job::role_of(*pod) != job::Role::kCoordinator || pod->meta.deleting) continue;
    const Caller coordinator = lookup_.cached(pod->meta.ns, pod->meta.name);
    if (!is_known(coordinator)) continue;
    all.push_back(list_replicas(*coordinator.job, pod->meta.name, attempt_uid(*pod),
                                pods_of(*coordinator.job), aggregator_port(stores_)));
  }
  return all;
}

Result<Replicas::Listed> Replicas::list_by_coordinator(const std::string& ns,
                                                       const std::string& name) const {
  const auto caller = find(ns, name);
  if (!caller) return caller.error();
  return Listed(list_replicas(*caller->job, name, attempt_uid(*caller->pod), pods_of(*caller->job),
                              aggregator_port(stores_)));
}

Result<Replicas::Listed> Replicas::list_by_aggregator(const std::string& ns,
                                                      const std::string& name) const {
  const auto caller = find(ns, name);
  if (!caller) return caller.error();
  if (job::role_of(*caller->pod) != job::Role::kAggregator) {
    return about(ns, name, {Code::kNotFound, "it is no aggregator"});
  }
  return Listed(list_aggregator(*caller->job, *caller->pod, pods_of(*caller->job)));
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
    return Error{Code::kInvalid, fmt::format("query: {} namespaces have a pod {}: name one",
                                             namespaces.size(), name)};
  }
  if (namespaces.empty()) return Error{Code::kNotFound, fmt::format("there is no pod {}", name)};

  const auto caller = find(namespaces.front(), name);
  if (!caller) return caller.error();
  const auto one = list_one(*caller->job, *caller->pod, aggregator_port(stores_));
  if (!one) return about(namespaces.front(), name, {Code::kNotFound, "it is no living replica"});
  return Listed(*one);
}

}  // namespace nervex::server
