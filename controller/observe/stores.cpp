#include "controller/observe/stores.h"

#include <algorithm>
#include <utility>

#include "gang/slot.h"
#include "job/counts.h"
#include "job/kept.h"
#include "job/names.h"
#include "kube/model/disruption.h"

namespace nervex::controller {

namespace {

std::string by_job(const Service& service) { return owner_job_uid(service.meta); }

std::string by_namespace(const EndpointSlice& slice) { return orphans_key(slice.meta.ns); }

// PodGroups and pods of deleted jobs have to be found, too.
std::string by_job_uid(const gang::PodGroup& group) {
  std::string uid = owner_job_uid(group.meta);
  return uid.empty() ? orphans_key(group.meta.ns) : uid;
}

// It was a job's: it has our finalizer, or a slot.
bool is_orphan(const kube::Pod& pod) {
  return owner_job_uid(pod.meta).empty() &&
         (pod.has_finalizer || pod.meta.annotations.contains(gang::kPodGroupUidAnnotation));
}

std::string by_job_key(const kube::Pod& pod) {
  std::string key = owner_job_key(pod.meta);
  return key.empty() && is_orphan(pod) ? orphans_key(pod.meta.ns) : key;
}

}  // namespace

Stores::Stores()
    : jobs([](const job::Job& job) { return job.meta.ns.str(); }),
      pods(by_job_key),
      services(by_job),
      endpoint_slices(by_namespace),
      pod_groups(by_job_uid) {}

void Stores::update_job(job::Job job) {
  const kube::Meta meta = job.meta;
  jobs.update(meta.key(), templates.fit(job::packed(std::move(job))));
  templates.recount(meta);
}

void Stores::forget_job(const kube::Meta& job) {
  jobs.forget(job.key(), job.uid);
  templates.recount(job);
}

Result<kube::Pod> decode_pod(std::string_view json) {
  static const kube::PodFilter kFilter = [] {
    kube::PodFilter filter = gang::with_slot_annotations(job::pod_filter());
    filter.label_keys.emplace_back(job::kBaseReplicaLabel);
    return filter;
  }();
  return kube::decode_pod(json, kFilter);
}

// -- watches

bool can_be_coalesced(const kube::Pod& after) {
  const bool is_lost = after.meta.deleting || after.disruption_target || !after.node_lost.empty() ||
                       kube::was_taken_away(after);
  return !is_lost && job::pod_role(after) != job::Role::kCoordinator;
}

namespace {

// Before and after; one of them may be null.
template <typename T>
using Changed =
    std::function<void(const std::shared_ptr<const T>&, const std::shared_ptr<const T>&)>;

// Pods and services of other owners are irrelevant here, and many.
std::string path_of_ours(const kube::ResourceKind& kind) {
  return kube::with_label(kube::api_path(kind), job::kGroupLabel, job::kGroupLabelValue);
}

// An object may change or lose its owner: a job that waits for its end has to learn that.
template <typename Ptr>
std::string former_owner_key(const Ptr& before, const Ptr& after) {
  if (!before || !after) return "";
  const std::string key = owner_job_key(before->meta);
  return key == owner_job_key(after->meta) ? "" : key;
}

void add_unless_empty(kube::WorkQueue& queue, const std::string& key) {
  if (!key.empty()) queue.add(key);
}

template <typename T>
Changed<T> add_owner_to(kube::WorkQueue& queue) {
  return [&queue](const auto& before, const auto& after) {
    add_unless_empty(queue, former_owner_key(before, after));
    add_unless_empty(queue, owner_job_key((after ? after : before)->meta));
  };
}

// Only a coordinator's last state shows why it was deleted, and it is needed later.
void remember_disrupted(Stores& stores, const kube::Pod& gone) {
  if (!gone.disruption_target || job::pod_role(gone) != job::Role::kCoordinator) return;
  stores.disrupted_coordinators.put(gone.meta.key(), gone);
}

Changed<kube::Pod> pod_changed(Stores& stores, Queues& queues, std::chrono::milliseconds delay) {
  return [&stores, &queue = queues.jobs, &slices = queues.endpoint_slices, delay](
             const auto& before, const auto& after) {
    if (after == nullptr) remember_disrupted(stores, *before);
    add_unless_empty(queue, former_owner_key(before, after));
    std::string key = owner_job_key(after ? after->meta : before->meta);
    if (!key.empty() && changes_endpoint(before.get(), after.get())) {
      slices.add_after(orphans_key((after ? after : before)->meta.ns), kEndpointSliceDelay);
    }
    if (key.empty() && after != nullptr && is_orphan(*after)) key = orphans_key(after->meta.ns);
    if (key.empty()) return;
    if (after != nullptr && can_be_coalesced(*after)) {
      queue.add_after(key, delay);  // later ones fold into it
    } else {
      queue.add(key);
    }
  };
}

Changed<gang::PodGroup> pod_group_changed(Stores& stores, kube::WorkQueue& queue) {
  return [&stores, &queue, owner = add_owner_to<gang::PodGroup>(queue)](const auto& before,
                                                                        const auto& after) {
    const kube::Meta& meta = (after ? after : before)->meta;
    stores.group_pods.recount(meta.ns, meta.name);
    owner(before, after);
    const bool is_orphan = after != nullptr && owner_job_uid(after->meta).empty();
    if (is_orphan) queue.add(orphans_key(after->meta.ns));
  };
}

// The namespace's Service: every job there may need it, and the last job's end removes it.
Changed<Service> service_changed(Stores& stores, Queues& queues) {
  return [&stores, &queues, owner = add_owner_to<Service>(queues.jobs)](const auto& before,
                                                                        const auto& after) {
    owner(before, after);
    const kube::Meta& meta = (after ? after : before)->meta;
    if (meta.name != meta.ns.str()) return;
    queues.jobs.add(orphans_key(meta.ns));
    for (const auto& job : stores.jobs.by_index(meta.ns)) queues.jobs.add(job->meta.key());
    queues.endpoint_slices.add(orphans_key(meta.ns));
  };
}

Changed<EndpointSlice> slice_changed(kube::WorkQueue& queue) {
  return [&queue](const auto& before, const auto& after) {
    queue.add(orphans_key((after ? after : before)->meta.ns));
  };
}

std::function<Result<job::Job>(std::string_view)> keep_job(Stores& stores) {
  return [&stores](std::string_view json) {
    auto job = job::parse_packed(json);
    return job ? stores.templates.fit(*std::move(job)) : std::move(job);
  };
}

// Others count as absent: users may create them, and large ones.
std::function<Result<AggregatorConfig>(std::string_view)> decode_config(std::string key) {
  return [key = std::move(key)](std::string_view json) -> Result<AggregatorConfig> {
    const auto id = kube::identify(json);
    if (id && id->key != key) return Error{Code::kNotFound, "aggregatorconfig " + id->key};
    return job::parse_aggregator_config(json);
  };
}

// Many Queues may change at once, as in a list: a worker looks once for what they affect.
Changed<queue::Queue> queue_changed(Stores& stores, kube::WorkQueue& queue) {
  return [&stores, &queue](const auto& before, const auto& after) {
    const bool is_same_spec =
        before && after && before->uid == after->uid && before->generation == after->generation;
    if (is_same_spec) return;
    stores.queues.update();
    queue.add(orphans_key(""));
  };
}

Changed<job::Job> job_changed(Stores& stores, Queues& queues) {
  return [&stores, &queue = queues.jobs, &slices = queues.endpoint_slices](const auto& before,
                                                                           const auto& after) {
    const job::Job& job = after ? *after : *before;
    stores.templates.recount(job.meta);
    if (after == nullptr) {
      stores.cleared_attempts.forget(job.meta.uid);
      stores.dry_runs.forget(job.meta.uid);
      stores.disrupted_coordinators.erase(job.meta.ns + "/" +
                                          job::pod_name(job, job::Role::kCoordinator, {}));
      slices.add_after(orphans_key(job.meta.ns), kEndpointSliceDelay);
    }
    queue.add(job.meta.key());
  };
}

}  // namespace

std::vector<std::string> unreadable_jobs(const Stores& stores, const std::string& ns) {
  std::vector<std::string> keys = stores.jobs.unreadable_keys();
  std::erase_if(keys, [&](const auto& key) { return kube::NamespacedName::parse(key).ns != ns; });
  return keys;
}

bool has_jobs(const Stores& stores, const std::string& ns) {
  return !stores.jobs.by_index(ns).empty() || !unreadable_jobs(stores, ns).empty();
}

std::shared_ptr<const queue::QueueTree> CachedQueues::tree() const {
  const MutexLock lock(mutex_);
  return tree_;
}

void CachedQueues::update() {
  auto made = std::make_shared<const queue::QueueTree>(store.all());
  const MutexLock lock(mutex_);
  tree_ = std::move(made);
}

// -- dry runs

void DryRuns::ask(Question question) {
  const MutexLock lock(mutex_);
  std::erase_if(questions_,
                [&](const Question& other) { return other.job_uid == question.job_uid; });
  DryRunReport& report = reports_[question.job_uid];
  const bool is_same = report.subject == question.subject;
  const SysTime first_asked = is_same ? report.first_asked : question.asked;
  report = {question.subject, question.asked, false, false, {}};
  report.first_asked = first_asked;
  questions_.push_back(std::move(question));
  asked_.notify_one();
}

std::optional<DryRuns::Question> DryRuns::take() {
  if (questions_.empty()) return std::nullopt;
  Question question = std::move(questions_.front());
  questions_.pop_front();
  return question;
}

std::optional<DryRuns::Question> DryRuns::next() {
  const MutexLock lock(mutex_);
  return take();
}

std::optional<DryRuns::Question> DryRuns::wait_for_next(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  asked_.wait(mutex_, stop, [this]() REQUIRES(mutex_) { return !questions_.empty(); });
  return stop.stop_requested() ? std::nullopt : take();
}

void DryRuns::answer(const std::string& job_uid, DryRunReport report) {
  const MutexLock lock(mutex_);
  const auto at = reports_.find(job_uid);
  if (at == reports_.end() || at->second.subject != report.subject) return;
  report.first_asked = at->second.first_asked;
  at->second = std::move(report);
}

std::optional<DryRunReport> DryRuns::report_on(const std::string& job_uid) const {
  const MutexLock lock(mutex_);
  const auto at = reports_.find(job_uid);
  return at == reports_.end() ? std::nullopt : std::optional(at->second);
}

void DryRuns::forget(const std::string& job_uid) {
  const MutexLock lock(mutex_);
  reports_.erase(job_uid);
  std::erase_if(questions_, [&](const Question& question) { return question.job_uid == job_uid; });
}

// -- writes that only inform

void StatusWriteLimiter::note_write(const std::string& job, MonoTime now) {
  const MutexLock lock(mutex_);
  jobs_[job] = {now, std::nullopt};
}

std::chrono::milliseconds StatusWriteLimiter::delay(const std::string& job, MonoTime now,
                                                    std::chrono::milliseconds period) {
  using std::chrono::milliseconds;
  constexpr milliseconds kInterval(1'000 / kPerSecond);
  const auto left_until = [now](MonoTime at) { return std::chrono::ceil<milliseconds>(at - now); };
  if (period == milliseconds::zero()) return period;
  const MutexLock lock(mutex_);
  Times& times = jobs_[job];
  if (times.last && *times.last + period > now) return left_until(*times.last + period);
  if (times.turn && *times.turn > now) return left_until(*times.turn);
  const bool has_turn = times.turn && *times.turn + period > now;
  times.turn.reset();
  if (has_turn) return milliseconds::zero();
  used_until_ = std::max(used_until_, now) + kInterval;
  const MonoTime turn = used_until_ - kInterval * kBurst;
  if (turn <= now) return milliseconds::zero();
  times.turn = turn;
  return left_until(turn);
}

std::chrono::milliseconds StatusWriteLimiter::first_delay(const std::string& job, MonoTime now,
                                                          std::chrono::milliseconds period) {
  using std::chrono::milliseconds;
  const MutexLock lock(mutex_);
  std::optional<MonoTime>& first = jobs_[job].last;
  if (!first) first = now;
  return std::max(std::chrono::ceil<milliseconds>(*first + period - now), milliseconds::zero());
}

void StatusWriteLimiter::forget(const std::string& job) {
  const MutexLock lock(mutex_);
  jobs_.erase(job);
}

void add_watches(kube::Reflectors& watches, Stores& stores, Queues& queues,
                 const std::string& aggregator_config, std::chrono::milliseconds pod_event_delay) {
  kube::WorkQueue& queue = queues.jobs;
  watches.add("nervexjobs", kube::api_path(kube::kNervexJobs), stores.jobs,
              kube::sink_into<job::Job>(stores.jobs, keep_job(stores), job_changed(stores, queues),
                                        [&queues](const std::string& key) {
                                          queues.jobs.add(key);
                                          const auto ns = kube::NamespacedName::parse(key).ns;
                                          queues.endpoint_slices.add(orphans_key(ns));
                                        }));
  watches.add("pods", path_of_ours(kube::kPods), stores.pods,
              kube::sink_into<kube::Pod>(stores.pods, decode_pod,
                                         pod_changed(stores, queues, pod_event_delay)));
  watches.add(
      "services", path_of_ours(kube::kServices), stores.services,
      kube::sink_into<Service>(stores.services, decode_service, service_changed(stores, queues)));
  watches.add("endpointslices", path_of_ours(kEndpointSlices), stores.endpoint_slices,
              kube::sink_into<EndpointSlice>(stores.endpoint_slices, decode_endpoint_slice,
                                             slice_changed(queues.endpoint_slices)));
  watches.add("podgroups", kube::api_path(kube::kPodGroups), stores.pod_groups,
              kube::sink_into<gang::PodGroup>(stores.pod_groups, gang::parse_pod_group,
                                              pod_group_changed(stores, queue)));
  // Optional, so that an upgrade may install its CRD later.
  watches.add_optional("queues", kube::api_path(kube::kQueues), stores.queues.store,
                       kube::sink_into<queue::Queue>(stores.queues.store, queue::parse_queue,
                                                     queue_changed(stores, queue)),
                       [](bool) {});
  const auto add_all_jobs = [&queue, &stores](const auto&, const auto&) {
    for (const auto& key : stores.jobs.keys()) queue.add(key);
  };
  watches.add("aggregatorconfigs", kube::api_path(kube::kAggregatorConfigs),
              stores.aggregator_configs,
              kube::sink_into<AggregatorConfig>(stores.aggregator_configs,
                                                decode_config(aggregator_config), add_all_jobs));
  watches.add("priorityclasses", kube::api_path(kube::kPriorityClasses), stores.priority_classes,
              kube::sink_into<job::PriorityClass>(stores.priority_classes,
                                                  job::decode_priority_class, add_all_jobs));
}

}  // namespace nervex::controller
