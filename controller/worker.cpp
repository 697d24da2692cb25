#include "controller/worker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/make_round.h"
#include "controller/decide/objects/cleanup.h"
#include "controller/decide/objects/services.h"
#include "controller/decide/reasons.h"
#include "controller/decide/status/status.h"
#include "controller/observe/observe.h"

namespace nervex::controller {

namespace {

// A status that only reports the objects leaves nothing to do, and each later change comes with a
// watch event; continuing at once would write for each pod of a starting gang.
bool has_more_to_do(const Decision& decision) {
  return std::any_of(decision.actions.begin(), decision.actions.end(),
                     [](const Action& action) {
                       return !std::holds_alternative<UpdateStatus>(action) &&
                              !std::holds_alternative<RecordEvent>(action);
                     }) ||
         decision.is_transition;
}

// While other large jobs use the memory for parsed templates.
constexpr std::chrono::milliseconds kLargeJobRetry{500};

// A Queue's stop or limit may end jobs, and pods that no round of a job looks at.
void queue_all(const Stores& stores, kube::WorkQueue& queue) {
  const auto jobs = stores.jobs.keys();
  std::set<std::string> keys(jobs.begin(), jobs.end());
  for (const auto& pod : stores.pods.all()) {
    std::string key = owner_job_key(pod->meta);
    keys.insert(key.empty() ? orphans_key(pod->meta.ns) : std::move(key));
  }
  for (const std::string& key : keys) queue.add(key);
}

Actions::iterator status_update(Actions& actions) {
  return std::find_if(actions.begin(), actions.end(), [](const Action& action) {
    return std::holds_alternative<UpdateStatus>(action);
  });
}

}  // namespace

Worker::Worker(kube::Api& api, Stores& stores, Queues& queues, Performer& performer,
               const Clock& clock, ObserveOptions options)
    : api_(api),
      stores_(stores),
      queue_(queues.jobs),
      slice_queue_(queues.endpoint_slices),
      performer_(performer),
      clock_(clock),
      options_(std::move(options)) {}

Outcome Worker::process(const std::string& key) {
  Result<Outcome> done = Outcome::kSuccess;
  try {
    done = work(key);
  } catch (const std::exception& e) {  // a library's; the next round may go better
    done = Error{Code::kInternal, e.what()};
  }
  if (done) {
    queue_.forget(key);
    return *done;
  }
  const auto delay =
      queue_.add_failed(key, done.error().retry_after.value_or(std::chrono::seconds(0)));
  // A conflict means that the cache was older than the object, which is expected.
  const auto log = done.error().code == Code::kConflict ? log_debug : log_warn;
  log("reconcile failed, requeued", {{"job", key},
                                     {"code", to_string(done.error().code)},
                                     {"error", done.error().message},
                                     {"in_ms", std::to_string(delay.count())}});
  return Outcome::kError;
}

// Changes during the delay of a write that only informs are written with it, or with one that does
// not wait.
void Worker::coalesce_status(const Observed& seen, Decision& decision) const {
  const auto update = status_update(decision.actions);
  if (update == decision.actions.end()) return;
  if (!may_be_delayed(seen, std::get<UpdateStatus>(*update).status)) return;
  const std::string key = seen.job.meta.key();
  const auto period = options_.status_update_period;
  const auto delay = seen.has_status
                         ? stores_.status_writes.delay(key, clock_.mono(), period)
                         : stores_.status_writes.first_delay(key, clock_.mono(), period);
  if (delay == std::chrono::milliseconds::zero()) return;
  decision.actions.erase(update);
  decision.requeue_after = std::min(delay, decision.requeue_after.value_or(delay));
}

// None of its objects counts as a deleted job's.
void Worker::report_unreadable(const std::string& key, const kube::Unreadable& what) {
  const auto [ns, name] = kube::NamespacedName::parse(key);
  job::Job job;
  job.meta.ns = ns;
  job.meta.name = name;
  job.meta.uid = what.uid;
  performer_.perform(
      job, {warning_event(kUnreadable, fmt::format("nervex-controller cannot read this job, and "
                                                   "does nothing about it until this is fixed: {}",
                                                   what.why))});
}

Result<Outcome> Worker::work(const std::string& key) {
  if (key == orphans_key("")) {
    queue_all(stores_, queue_);
    return Outcome::kSuccess;
  }
  const auto unreadable = stores_.jobs.unreadable(key);
  if (unreadable) report_unreadable(key, *unreadable);
  if (auto gone = let_orphans_go(key, unreadable); !gone) {
    log_warn("cannot release pods of a deleted job",
             {{"job", key}, {"error", gone.error().message}});
    queue_.add_after(key, std::chrono::seconds(10));
  }
  if (unreadable) return Outcome::kSuccess;
  const auto cached = stores_.jobs.get(key);
  if (cached == nullptr) {
    stores_.status_writes.forget(key);
    if (auto removed = remove_unused_service(kube::NamespacedName::parse(key).ns); !removed) {
      return removed.error();
    }
    return Outcome::kSuccess;
  }
  const auto share = stores_.parsed_templates.take(*cached);
  if (!share) {  // not a failure of this job: no back-off
    log_debug("reconcile postponed", {{"job", key}, {"why", share.error().message}});
    queue_.add_after(key, kLargeJobRetry);
    return Outcome::kRequeueAfter;
  }
  const auto job = read_templates(api_, stores_, cached);
  if (!job) return job.error();
  Observed seen = observe_caches(stores_, options_, **job, clock_.now());
  std::optional<Round> round;
  if (auto read = observe_live(api_, stores_, seen, round); !read) return read.error();
  Decision decision = reconcile(*round);
  if (ends_unstarted(decision.actions)) {
    if (auto read = read_live_attempt(api_, seen); !read) return read.error();
    round.emplace(make_round(seen));
    decision = reconcile(*round);
    if (!ends_unstarted(decision.actions)) {
      return Error{Code::kTransient, "nervexjob " + key + " has started, and a cache is behind"};
    }
  }
  coalesce_status(seen, decision);
  if (decision.requeue_after) queue_.add_after(key, *decision.requeue_after);
  if (decision.actions.empty()) {
    return decision.requeue_after ? Outcome::kRequeueAfter : Outcome::kSuccess;
  }
  if (auto same = confirm_removals(api_, stores_, seen.job, decision.actions); !same) {
    return same.error();
  }
  // Trying is enough: what only informs may wait if the write fails.
  if (status_update(decision.actions) != decision.actions.end()) {
    stores_.status_writes.note_write(key, clock_.mono());
  }
  const auto failed = performer_.perform(seen.job, decision.actions);
  queue_slices(key, decision.actions);
  if (failed) {
    report(key, *failed);
    if (failed->goes_on) queue_.add(key);
    return failed->error;
  }
  if (has_more_to_do(decision)) {
    queue_.add(key);  // what was written is in the caches: go on from there
  } else {
    queue_.add_after(key, kPodEventDelay);
  }
  return Outcome::kRequeue;
}

// The caches have this process's writes before the watch reports them, so those are no changes
// then.
void Worker::queue_slices(const std::string& key, const Actions& actions) const {
  const bool folds_pods = std::any_of(actions.begin(), actions.end(), [](const Action& action) {
    return std::holds_alternative<CreateSharedService>(action) ||
           std::holds_alternative<UpdateSharedService>(action) ||
           std::holds_alternative<CreatePods>(action) ||
           std::holds_alternative<ConfirmFree>(action) ||
           std::holds_alternative<DeletePods>(action) ||
           std::holds_alternative<ReleasePods>(action);
  });
  if (!folds_pods) return;
  slice_queue_.add_after(orphans_key(kube::NamespacedName::parse(key).ns), kEndpointSliceDelay);
}

Result<Nothing> Worker::let_orphans_go(const std::string& key,
                                       const std::optional<kube::Unreadable>& unreadable) {
  const auto job = stores_.jobs.get(key);
  std::string uid = job ? job->meta.uid : "";
  if (unreadable) uid = unreadable->deleting ? "" : unreadable->uid;
  Actions actions;
  const auto pods = stores_.pods.by_index(key);
  const PodsOfKey of{pods, std::move(uid), clock_.now(),
                     std::chrono::ceil<std::chrono::seconds>(options_.max_termination_grace)};
  auto released = orphans_to_release(of);
  if (!released.empty()) actions.push_back(ReleasePods{std::move(released)});
  auto shortened = orphans_to_shorten(of);
  if (!shortened.empty()) actions.push_back(DeletePods{std::move(shortened)});
  auto ended = orphans_to_end(of, stores_.queues.tree().get());
  if (!ended.due.empty()) actions.push_back(DeletePods{std::move(ended.due)});
  if (ended.next) {
    const auto left = *ended.next - clock_.now();
    queue_.add_after(key, std::chrono::ceil<std::chrono::milliseconds>(left));
  }
  auto groups = orphaned_groups(stores_.pod_groups.by_index(key));
  if (!groups.empty()) actions.push_back(DeletePodGroups{std::move(groups)});
  if (actions.empty()) return ok();
  job::Job gone;
  gone.meta.ns = kube::NamespacedName::parse(key).ns;
  const auto failed = performer_.perform(gone, actions);
  return failed ? Result<Nothing>(failed->error) : ok();
}

Result<Nothing> Worker::remove_unused_service(const std::string& ns) {
  const auto target =
      unused_shared_service(stores_.services.get(ns + "/" + ns), has_jobs(stores_, ns));
  if (!target) return ok();
  job::Job gone;
  gone.meta.ns = ns;
  const auto failed = performer_.perform(gone, {DeleteServices{{*target}}});
  return failed ? Result<Nothing>(failed->error) : ok();
}

void Worker::report(const std::string& key, const Failure& failure) {
  const int before = queue_.failures(key);
  if (failure.event_reason.empty() || !is_worth_reporting(failure.error.code, before)) return;
  // With the status, and the objects, that this round has written.
  const auto cached = stores_.jobs.get(key);
  if (cached == nullptr) return;
  const auto job = read_templates(api_, stores_, cached);
  if (!job) return;
  Observed seen = observe_caches(stores_, options_, **job, clock_.now());
  const bool is_first = before == 0 || !is_worth_reporting(failure.error.code, before - 1);
  Actions actions = handle_failed_write(seen, failure, is_first);
  if (ends_unstarted(actions)) {
    actions = read_live_attempt(api_, seen) ? handle_failed_write(seen, failure, is_first)
                                            : report_failed_write(seen.job, failure.event_reason,
                                                                  failure.error.message, seen.now);
  }
  if (const auto failed = performer_.perform(seen.job, actions)) {
    log_warn("cannot report a failure on the job",
             {{"job", key}, {"error", failed->error.message}});
  }
}

// -- metrics

namespace {

MetricLabels controller_label() { return {{"controller", kControllerName}}; }

Counter round_counter(Metrics& metrics, const char* result) {
  MetricLabels labels = controller_label();
  labels.emplace("result", result);
  return metrics.counter("controller_runtime_reconcile_total",
                         "Total number of reconciliations of a job, by result.", labels);
}

}  // namespace

RoundMetrics::RoundMetrics(Metrics& metrics, int workers)
    : success_(round_counter(metrics, "success")),
      error_(round_counter(metrics, "error")),
      requeue_(round_counter(metrics, "requeue")),
      requeue_after_(round_counter(metrics, "requeue_after")),
      errors_(metrics.counter("controller_runtime_reconcile_errors_total",
                              "Total number of reconciliations of a job that failed.",
                              controller_label())),
      seconds_(metrics.histogram("controller_runtime_reconcile_time_seconds",
                                 "Duration of a reconciliation of a job, in seconds.",
                                 request_bounds(), controller_label())),
      active_(metrics.gauge("controller_runtime_active_workers",
                            "Number of workers that reconcile a job now.", controller_label())) {
  metrics
      .gauge("controller_runtime_max_concurrent_reconciles",
             "Maximum number of jobs that are reconciled in parallel.", controller_label())
      .set(workers);
}

void RoundMetrics::count(Outcome outcome, std::chrono::nanoseconds took) const {
  seconds_.observe(took);
  switch (outcome) {
    case Outcome::kSuccess:
      return success_.add();
    case Outcome::kRequeue:
      return requeue_.add();
    case Outcome::kRequeueAfter:
      return requeue_after_.add();
    case Outcome::kError:
      error_.add();
      errors_.add();
  }
}

void RoundMetrics::process(Worker& worker, const std::string& key) const {
  const CountedIn active = begin();
  const SystemClock clock;
  const MonoTime began = clock.mono();
  const Outcome outcome = worker.process(key);
  count(outcome, clock.mono() - began);
}

// -- threads

Runner::Runner(kube::Leadership& leadership, kube::Reflectors& caches)
    : leadership_(leadership), caches_(caches) {}

Runner::~Runner() { stop(); }

void Runner::start(kube::WorkQueue& queue, int threads, const Process& process) {
  queues_.push_back(&queue);
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back(
        [this, &queue, process](const std::stop_token& stop) { run(stop, queue, process); });
  }
}

void Runner::stop() {
  for (auto& thread : threads_) thread.request_stop();
  for (auto* queue : queues_) queue->shut_down();
  threads_.clear();  // they join
}

void Runner::run(const std::stop_token& stop, kube::WorkQueue& queue, const Process& process) {
  if (!leadership_.wait(stop)) return;
  std::call_once(refreshed_, [this] { caches_.refresh(); });
  if (!caches_.wait_until_current(stop)) return;
  while (auto key = queue.next()) {
    process(*key);
    queue.done(*key);
  }
}

}  // namespace nervex::controller
