#include "controller/observe/observe.h"

#include <algorithm>
#include <set>
#include <utility>

#include "controller/decide/attempt.h"
#include "controller/decide/cleanup.h"
#include "controller/decide/replacement.h"
#include "controller/observe/live_pods.h"
#include "job/names.h"
#include "kube/model/node.h"

namespace nervex::controller {

namespace {

Observed from_caches(const Caches& caches, const ObserveOptions& options, const job::Job& job,
                     SysTime now) {
  Observed seen;
  seen.job = job;
  seen.pods = caches.pods.by_index(job.meta.key());
  std::erase_if(seen.pods,
                [&](const auto& pod) { return owner_job_uid(pod->meta) != job.meta.uid; });
  seen.services = caches.services.by_index(job.meta.uid);
  seen.pod_groups = caches.pod_groups.by_index(job.meta.uid);
  seen.aggregator_config = caches.aggregator_configs.get(options.aggregator_config);
  const kube::SharedJson aggregator =
      seen.aggregator_config ? seen.aggregator_config->pod_template : kube::SharedJson();
  seen.priority = priority_of(job.spec, aggregator, caches.priority_classes.all());
  seen.server_url = options.server_url;
  seen.server_token = options.server_token;
  seen.retry_delay = options.retry_delay;
  seen.now = now;
  return seen;
}

bool is_coordinator_of(const kube::Pod& pod, const gang::PodGroup& group) {
  return job::role_of(pod) == job::Role::kCoordinator && is_of_group(pod, group);
}

// The coordinator has had a call to nervex-server answered, which proves that it ran, even if the
// phase does not say so: nobody may have looked while it did. A job that was made from another
// one's manifest may hold that one's calls; they are older than its PodGroup.
bool has_called(const job::Job& job, const gang::PodGroup& group) {
  const auto& calls = job.spec.requests.calls;
  return std::any_of(calls.begin(), calls.end(), [&](const job::CallRecord& call) {
    return call.attempt == job.status.attempt && call.time > group.meta.created;
  });
}

// Its coordinator runs, or has run: another one in the same attempt would not know its workers.
bool is_under_way(const job::Job& job, const gang::PodGroup* group) {
  if (job.meta.deleting) return false;
  return job.status.phase == job::Phase::kRunning || (group != nullptr && has_called(job, *group));
}

bool seems_gone(const Observed& seen, const gang::PodGroup& group) {
  return std::none_of(seen.pods.begin(), seen.pods.end(),
                      [&](const auto& pod) { return is_coordinator_of(*pod, group); });
}

// The object, or null: there is none that belongs to the job.
Result<Json> live_object_of(kube::Api& api, const kube::ResourceKind& kind, const job::Job& job,
                            const std::string& name) {
  auto live = kube::get_object(api, kind, job.meta.ns, name);
  if (live) return owner_job_uid(kube::decode_meta(*live)) == job.meta.uid ? live : Json();
  if (live.error().code == Code::kNotFound) return Json();
  return live.error();
}

// Fails if there is a PodGroup of the attempt that the cache does not have: worth another look.
Result<Nothing> check_no_pod_group(kube::Api& api, const job::Job& job) {
  const std::string name = job::pod_group_name(job, job.status.attempt);
  const auto live = live_object_of(api, kube::kPodGroups, job, name);
  if (!live) return live.error();
  if (live->is_null() || kube::decode_meta(*live).deleting) return ok();
  return Error{Code::kTransient, "podgroup " + name + " is not in the cache yet"};
}

Result<Nothing> check_same_pod_group(kube::Api& api, const job::Job& job,
                                     const gang::PodGroup& group) {
  const auto live = live_object_of(api, kube::kPodGroups, job, group.meta.name);
  if (!live) return live.error();
  if (!live->is_null() && kube::decode_meta(*live).uid == group.meta.uid) return ok();
  return Error{Code::kTransient,
               "podgroup " + group.meta.name + " in the cache is not the live one"};
}

Result<Nothing> check_same_attempt(kube::Api& api, const job::Job& job) {
  const auto live = kube::get_object(api, kube::kNervexJobs, job.meta.ns, job.meta.name);
  if (!live) return live.error();
  const auto now = job::decode_job(*live);
  if (!now) return now.error();
  const bool is_same = now->meta.uid == job.meta.uid && now->status.attempt == job.status.attempt;
  if (is_same) return ok();
  return Error{Code::kTransient, "nervexjob " + job.meta.key() + " is newer than the cache"};
}

// Before anything is deleted as left over: with a cache that is behind, that may be the very
// attempt that runs.
Result<Nothing> confirm_stale_objects(kube::Api& api, const Observed& seen,
                                      const Attempt& attempt) {
  if (delete_stale_objects(seen, attempt).empty()) return ok();
  if (auto same = check_same_attempt(api, seen.job); !same) return same;
  return attempt.group == nullptr ? check_no_pod_group(api, seen.job)
                                  : check_same_pod_group(api, seen.job, *attempt.group);
}

std::string planned_node_of_coordinator(const gang::PodGroup& group) {
  const auto* base = gang::find_gang(group.status, gang::kBaseGang);
  if (base == nullptr) return "";
  for (const auto& place : base->placements) {
    if (place.role == to_string(job::Role::kCoordinator)) return place.node;
  }
  return "";
}

// Whether the node may be read at all may change: an attempt is not ended on a guess.
Result<bool> is_node_lost(kube::Api& api, const std::string& name) {
  if (name.empty()) return false;
  const auto live = kube::get_object(api, kube::kNodes, "", name);
  if (live) {
    const auto node = kube::decode_node(kube::to_text(*live));
    return node && !node->ready;
  }
  if (live.error().code == Code::kNotFound) return true;
  return live.error();
}

// The coordinator that the cache lacks, or what is known of its end.
Result<Nothing> look_for_coordinator(kube::Api& api, Caches& caches, const gang::PodGroup& group,
                                     Observed& seen) {
  const std::string name = job::pod_name(seen.job, job::Role::kCoordinator, {});
  const auto live = live_pod(api, seen.job, name);
  if (!live) return live.error();
  if (*live && is_coordinator_of(**live, group)) {
    seen.pods.push_back(std::make_shared<const kube::Pod>(**live));
    return ok();
  }
  const auto last = caches.disrupted_coordinators.get(seen.job.meta.ns + "/" + name);
  if (last && is_of_group(*last, group)) seen.last_coordinator = last;
  const auto node_is_lost = is_node_lost(api, planned_node_of_coordinator(group));
  if (!node_is_lost) return node_is_lost.error();
  seen.coordinator_node_is_lost = *node_is_lost;
  seen.coordinator_is_gone = true;
  return ok();
}

// Pods that only the cache lacks are no loss.
Result<Nothing> find_vanished(kube::Api& api, Observed& seen) {
  if (is_final(seen.job.status.phase) || requests_lost(seen.job)) return ok();
  const auto vanished = vanished_pods(seen, current_attempt(seen));
  if (vanished.empty()) return ok();
  const auto add = [&](kube::Pod pod) {
    seen.pods.push_back(std::make_shared<const kube::Pod>(std::move(pod)));
  };
  if (vanished.size() <= kFewNames) {
    for (const auto& name : vanished) {
      auto pod = live_pod(api, seen.job, name);
      if (!pod) return pod.error();
      if (*pod) add(**std::move(pod));
    }
  } else {
    const std::set<std::string_view> names(vanished.begin(), vanished.end());
    auto listed = for_each_live_pod(api, seen.job, [&](kube::Pod pod) {
      if (names.count(pod.meta.name) != 0) add(std::move(pod));
    });
    if (!listed) return listed;
  }
  std::sort(seen.pods.begin(), seen.pods.end(),
            [](const auto& a, const auto& b) { return a->meta.name < b->meta.name; });
  return ok();
}

Result<Nothing> check_against_live(kube::Api& api, Caches& caches, const Attempt& attempt,
                                   Observed& seen) {
  if (seen.job.status.phase == job::Phase::kNone || is_final(seen.job.status.phase)) return ok();
  if (is_under_way(seen.job, attempt.group)) {
    if (attempt.group == nullptr) {
      if (auto none = check_no_pod_group(api, seen.job); !none) return none;
      seen.pod_group_is_gone = true;
      return ok();  // the attempt ends before anything is deleted
    }
    if (seems_gone(seen, *attempt.group)) {
      auto looked = look_for_coordinator(api, caches, *attempt.group, seen);
      if (!looked || seen.coordinator_is_gone) return looked;  // the attempt ends first
    }
  }
  if (auto found = find_vanished(api, seen); !found) return found;
  return confirm_stale_objects(api, seen, attempt);
}

}  // namespace

std::optional<Observed> observe_caches(const Caches& caches, const ObserveOptions& options,
                                       const std::string& key, SysTime now) {
  const auto job = caches.jobs.get(key);
  return job ? std::optional(from_caches(caches, options, *job, now)) : std::nullopt;
}

Result<std::optional<Observed>> observe(kube::Api& api, Caches& caches,
                                        const ObserveOptions& options, const std::string& key,
                                        SysTime now) {
  const auto job = caches.jobs.get(key);
  if (!job) return std::optional<Observed>();
  Observed seen = from_caches(caches, options, *job, now);
  const Attempt attempt = current_attempt(seen);
  if (seen.pod_groups.empty()) {
    seen.predecessor = predecessor_remains(caches, *job, attempt.has_aggregator);
  }
  if (auto checked = check_against_live(api, caches, attempt, seen); !checked) {
    return checked.error();
  }
  return std::optional(std::move(seen));
}

namespace {

template <typename T>
bool holds(const kube::Store<T>& store, const job::Job& job, const std::string& name) {
  const auto found = store.get(job.meta.ns + "/" + name);
  return found && owner_job_key(found->meta) == job.meta.key() &&
         owner_job_uid(found->meta) != job.meta.uid;
}

}  // namespace

std::string predecessor_remains(const Caches& caches, const job::Job& job, bool wants_aggregator) {
  for (const auto role : {job::Role::kCoordinator, job::Role::kAggregator}) {
    if (role == job::Role::kAggregator && !wants_aggregator) continue;
    const std::string name = job::pod_name(job, role, {});
    if (holds(caches.pods, job, name)) return "pod " + name;
    if (holds(caches.services, job, name)) return "service " + name;
  }
  const int attempt = std::max(1, job.status.attempt);  // 0: nobody has looked at the job yet
  const std::string group = job::pod_group_name(job, attempt);
  return holds(caches.pod_groups, job, group) ? "podgroup " + group : "";
}

}  // namespace nervex::controller
