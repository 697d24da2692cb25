#include "controller/observe/observe.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "controller/decide/live_checks.h"
#include "controller/decide/make_round.h"
#include "controller/decide/reconcile.h"
#include "controller/decide/round/attempt.h"
#include "controller/decide/round/observed.h"
#include "job/kept.h"
#include "job/names.h"
#include "kube/model/node.h"
#include "kube/paged_list.h"

namespace nervex::controller {

namespace {

Error deleted(const kube::Meta& job) {
  return {Code::kTransient, "nervexjob " + job.key() + " was deleted, but is still in the cache"};
}

Observed from_caches(const Stores& stores, const ObserveOptions& options, const job::Job& job,
                     SysTime now) {
  NERVEX_CHECK(job.left_out_bytes == 0);
  Observed seen;
  seen.job = job::unpacked(job);
  seen.pods = stores.pods.by_index(job.meta.key());
  std::erase_if(seen.pods,
                [&](const auto& pod) { return owner_job_uid(pod->meta) != job.meta.uid; });
  seen.services = stores.services.by_index(job.meta.uid);
  seen.shared_service = stores.services.get(job.meta.ns + "/" + job.meta.ns);
  seen.shared_services = options.shared_services;
  seen.direct_placement = options.direct_placement;
  seen.pod_groups = stores.pod_groups.by_index(job.meta.uid);
  seen.group_pods = stores.group_pods.count(job.meta.ns);
  seen.aggregator_config = stores.aggregator_configs.get(options.aggregator_config);
  seen.aggregator_config_is_unreadable =
      stores.aggregator_configs.unreadable(options.aggregator_config).has_value();
  seen.aggregator_config_name = options.aggregator_config;
  const kube::SharedJson aggregator =
      seen.aggregator_config ? seen.aggregator_config->pod_template : kube::SharedJson();
  seen.queues = stores.queues.tree();
  seen.dry_run = stores.dry_runs.report_on(job.meta.uid);
  seen.priority = job::resolve_priority(seen.job.spec, aggregator, stores.priority_classes.all());
  seen.server_url = options.server_url;
  seen.server_token = options.server_token;
  seen.retry_delay = options.retry_delay;
  seen.max_reservation_seconds = options.max_reservation_seconds;
  seen.start_timeout = options.start_timeout;
  seen.max_termination_grace =
      std::chrono::ceil<std::chrono::seconds>(options.max_termination_grace);
  seen.now = now;
  return seen;
}

// kTransient: the cache still has a job that was deleted.
Result<job::Job> read_live_job(kube::Api& api, const kube::Meta& cached) {
  const auto object = kube::get_object(api, kube::kNervexJobs, cached.ns, cached.name);
  if (object) return job::decode_job(*object);
  if (object.error().code != Code::kNotFound) return object.error();
  return deleted(cached);
}

// The object, or null: there is none that belongs to the job.
Result<Json> get_owned_object(kube::Api& api, const kube::ResourceKind& kind, const job::Job& job,
                              const std::string& name) {
  auto live = kube::get_object(api, kind, job.meta.ns, name);
  if (live) return owner_job_uid(kube::decode_meta(*live)) == job.meta.uid ? live : Json();
  if (live.error().code == Code::kNotFound) return Json();
  return live.error();
}

// Fails if the attempt has a PodGroup that the cache lacks: retry.
Result<Nothing> check_no_pod_group(kube::Api& api, const job::Job& job) {
  const std::string name = job::pod_group_name(job, job.status.attempt);
  const auto live = get_owned_object(api, kube::kPodGroups, job, name);
  if (!live) return live.error();
  if (live->is_null() || kube::decode_meta(*live).deleting) return ok();
  return Error{Code::kTransient, "podgroup " + name + " is not in the cache yet"};
}

Result<Nothing> check_same_pod_group(kube::Api& api, const job::Job& job,
                                     const gang::PodGroup& group) {
  const auto live = get_owned_object(api, kube::kPodGroups, job, group.meta.name);
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

// Before stale objects are deleted: with a stale cache they may be the running attempt's.
Result<Nothing> confirm_stale_objects(kube::Api& api, const job::Job& job,
                                      const gang::PodGroup* group) {
  if (auto same = check_same_attempt(api, job); !same) return same;
  return group == nullptr ? check_no_pod_group(api, job) : check_same_pod_group(api, job, *group);
}

// Its lost pods may have been replaced by now, or its queue may have been opened again.
Result<Nothing> confirm_released(kube::Api& api, const job::Job& job, const gang::PodGroup& group) {
  const auto live = get_owned_object(api, kube::kPodGroups, job, group.meta.name);
  if (!live) return live.error();
  const bool is_same =
      !live->is_null() && kube::decode_meta(*live).resource_version == group.meta.resource_version;
  if (is_same) return ok();
  return Error{Code::kTransient, "podgroup " + group.meta.name + " is newer than the cache"};
}

std::string planned_node_of_coordinator(const gang::PodGroup& group) {
  const auto* base = gang::find_gang(group.status, gang::kBaseGang);
  if (base == nullptr) return "";
  for (const auto& placement : base->placements) {
    if (placement.role == to_string(job::Role::kCoordinator)) return placement.node;
  }
  return "";
}

// The right to read nodes may change: an attempt is not ended on a guess.
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
Result<Nothing> look_for_coordinator(kube::Api& api, const Stores& stores,
                                     const gang::PodGroup& group, Observed& seen) {
  const std::string name = job::pod_name(seen.job, job::Role::kCoordinator, {});
  const auto live = live_pod(api, seen.job, name);
  if (!live) return live.error();
  if (*live && is_coordinator(**live, group)) {
    seen.pods.push_back(std::make_shared<const kube::Pod>(**live));
    return ok();
  }
  const auto last = stores.disrupted_coordinators.get(seen.job.meta.ns + "/" + name);
  if (last && is_of_group(*last, group)) seen.last_coordinator = last;
  const auto node_is_lost = is_node_lost(api, planned_node_of_coordinator(group));
  if (!node_is_lost) return node_is_lost.error();
  seen.coordinator_node_is_lost = *node_is_lost;
  seen.coordinator_is_gone = true;
  return ok();
}

// Pods that only the cache lacks are not lost.
Result<Nothing> look_for_vanished(kube::Api& api, const std::vector<std::string>& vanished,
                                  Observed& seen) {
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

Result<Nothing> read_live(kube::Api& api, const Stores& stores, const LiveChecks& checks,
                          const gang::PodGroup* group, Observed& seen) {
  if (checks.pod_group) {
    if (auto none = check_no_pod_group(api, seen.job); !none) return none;
    seen.pod_group_is_gone = true;
    return ok();
  }
  if (checks.coordinator) {
    auto looked = look_for_coordinator(api, stores, *group, seen);
    if (!looked || seen.coordinator_is_gone) return looked;
  }
  if (!checks.vanished.empty()) {
    if (auto found = look_for_vanished(api, checks.vanished, seen); !found) return found;
  }
  if (checks.released) {
    if (auto same = confirm_released(api, seen.job, *group); !same) return same;
  }
  return checks.stale_objects ? confirm_stale_objects(api, seen.job, group) : ok();
}

}  // namespace

Result<JobPtr> read_templates(kube::Api& api, Stores& stores, const JobPtr& job) {
  if (job->left_out_bytes == 0) return job;
  auto live = read_live_job(api, job->meta);
  if (!live) return live.error();
  if (live->meta.uid != job->meta.uid) return deleted(job->meta);
  stores.update_job(*live);
  return std::make_shared<const job::Job>(*std::move(live));
}

Observed observe_caches(const Stores& stores, const ObserveOptions& options, const job::Job& job,
                        SysTime now) {
  Observed seen = from_caches(stores, options, job, now);
  if (seen.pod_groups.empty()) {
    const bool has_config = seen.aggregator_config != nullptr;
    seen.predecessor =
        predecessor_remains(stores, job, job::wants_aggregator(job.spec, has_config));
  }
  if (job.status.phase == job::Phase::kNone) begin_job(seen);
  return seen;
}

Result<Nothing> observe_live(kube::Api& api, const Stores& stores, Observed& seen,
                             std::optional<Round>& round) {
  round.emplace(make_round(seen));
  const LiveChecks checks = live_checks(*round);
  if (checks == LiveChecks{}) return ok();
  if (auto read = read_live(api, stores, checks, round->attempt.group, seen); !read) return read;
  round.emplace(make_round(seen));
  return ok();
}

namespace {

// The object of that name, if an earlier job owns it.
template <typename T>
std::shared_ptr<const T> held_by_predecessor(const kube::Store<T>& store, const job::Job& job,
                                             const std::string& name) {
  auto found = store.get(job.meta.ns + "/" + name);
  const bool is_of_it = found && owner_job_key(found->meta) == job.meta.key() &&
                        owner_job_uid(found->meta) != job.meta.uid;
  return is_of_it ? std::move(found) : nullptr;
}

}  // namespace

Predecessor predecessor_remains(const Stores& stores, const job::Job& job, bool wants_aggregator) {
  for (const auto role : {job::Role::kCoordinator, job::Role::kAggregator}) {
    if (role == job::Role::kAggregator && !wants_aggregator) continue;
    const std::string name = job::pod_name(job, role, {});
    if (auto pod = held_by_predecessor(stores.pods, job, name)) {
      return {"pod " + name, std::move(pod)};
    }
    if (held_by_predecessor(stores.services, job, name)) return {"service " + name, nullptr};
  }
  const std::string group = job::pod_group_name(job, job.status.attempt);
  if (held_by_predecessor(stores.pod_groups, job, group)) return {"podgroup " + group, nullptr};
  return {};
}

// -- live reads

namespace {

// Pods may have 100 kB each: then a page has 5 MB.
constexpr int kPageSize = 50;

}  // namespace

Result<Nothing> for_each_live_pod(kube::Api& api, const job::Job& job,
                                  const std::function<void(kube::Pod pod)>& on_pod) {
  const std::string path =
      kube::with_label(kube::api_path(kube::kPods, job.meta.ns), job::kJobLabel, job.meta.name);
  const auto listed =
      kube::list_in_pages(api, path, kPageSize, [&](std::string_view json) -> Result<Nothing> {
        auto pod = decode_pod(json);
        if (!pod) return pod.error();
        if (owner_job_uid(pod->meta) == job.meta.uid) on_pod(*std::move(pod));
        return ok();
      });
  if (!listed) return with_context("list the pods of nervexjob " + job.meta.key(), listed.error());
  return ok();
}

Result<std::optional<kube::Pod>> live_pod(kube::Api& api, const job::Job& job,
                                          const std::string& name) {
  const auto body = api.send({"GET", kube::api_path(kube::kPods, job.meta.ns, name), "", ""});
  if (!body) {
    if (body.error().code == Code::kNotFound) return std::optional<kube::Pod>();
    return body.error();
  }
  auto pod = decode_pod(*body);
  if (!pod) return pod.error();
  if (owner_job_uid(pod->meta) != job.meta.uid) return std::optional<kube::Pod>();
  return std::optional(*std::move(pod));
}

// -- does what was decided hold?

namespace {

bool is_removal(const Action& action) {
  if (const auto* patch = std::get_if<PatchPodGroup>(&action)) return patch->removes_slots;
  return std::holds_alternative<DeletePods>(action);
}

// Decisions depend only on spec, status, and how the job is deleted, not on labels.
bool is_same(const job::Job& live, const job::Job& job) {
  return live.meta.uid == job.meta.uid && live.meta.generation == job.meta.generation &&
         live.meta.deleting == job.meta.deleting &&
         live.meta.orphans_its_own == job.meta.orphans_its_own && live.status == job.status;
}

}  // namespace

Result<Nothing> confirm_removals(kube::Api& api, Stores& stores, const job::Job& job,
                                 const Actions& actions) {
  if (is_final(job.status.phase) || std::none_of(actions.begin(), actions.end(), is_removal)) {
    return ok();
  }
  auto live = read_live_job(api, job.meta);
  if (!live) return live.error();
  if (live->meta.resource_version == job.meta.resource_version || is_same(*live, job)) return ok();
  stores.update_job(*std::move(live));
  return Error{
      Code::kTransient,
      "nervexjob " + job.meta.key() +
          " is newer than the cache: its objects are deleted only after the cache is up to date"};
}

bool ends_unstarted(const Actions& actions) {
  return std::any_of(actions.begin(), actions.end(), [](const Action& action) {
    const auto* update = std::get_if<UpdateStatus>(&action);
    return update != nullptr && update->ends_unstarted;
  });
}

Result<Nothing> read_live_attempt(kube::Api& api, Observed& seen) {
  const std::string name = job::pod_group_name(seen.job, seen.job.status.attempt);
  const auto object = get_owned_object(api, kube::kPodGroups, seen.job, name);
  if (!object) return object.error();
  std::erase_if(seen.pod_groups, [&](const auto& group) { return group->meta.name == name; });
  if (object->is_null()) return ok();
  auto group = gang::decode_pod_group(*object);
  if (!group) return group.error();
  const bool has_started = std::any_of(group->status.gangs.begin(), group->status.gangs.end(),
                                       [](const auto& gang) { return gang.committed; });
  seen.pod_groups.push_back(std::make_shared<const gang::PodGroup>(*std::move(group)));
  const auto by_name = [](const auto& a, const auto& b) { return a->meta.name < b->meta.name; };
  std::sort(seen.pod_groups.begin(), seen.pod_groups.end(), by_name);
  if (!has_started) return ok();  // no pod of it is bound
  Ptrs<kube::Pod> pods;
  auto listed = for_each_live_pod(api, seen.job, [&](kube::Pod pod) {
    pods.push_back(std::make_shared<const kube::Pod>(std::move(pod)));
  });
  if (!listed) return listed;
  std::sort(pods.begin(), pods.end(), by_name);
  seen.pods = std::move(pods);
  return ok();
}

}  // namespace nervex::controller
