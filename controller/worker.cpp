#include "controller/worker.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "controller/reasons.h"
#include "controller/reconcile.h"
#include "controller/refusal.h"
#include "controller/replacement.h"
#include "controller/turn.h"

namespace nervex::controller {
namespace {

// After a status that only follows what is there nothing is left to do, and whatever happens next
// is told by a watch; going on at once would write again for each pod of a gang that starts.
bool has_more_to_do(const Decision& decision) {
  return std::any_of(decision.actions.begin(), decision.actions.end(),
                     [](const Action& action) {
                       return !std::holds_alternative<UpdateStatus>(action) &&
                              !std::holds_alternative<RecordEvent>(action);
                     }) ||
         decision.is_turn;
}

}  // namespace

Worker::Worker(kube::Api& api, Caches& caches, kube::WorkQueue& queue, Performer& performer,
               const Clock& clock, ObserveOptions options)
    : api_(api),
      caches_(caches),
      queue_(queue),
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
  // A conflict means that the cache was older than the object: part of every controller's day.
  const auto log = done.error().code == Code::kConflict ? log_debug : log_warn;
  log("job comes again", {{"job", key},
                          {"code", to_string(done.error().code)},
                          {"error", done.error().message},
                          {"in_ms", std::to_string(delay.count())}});
  return Outcome::kError;
}

Result<Outcome> Worker::work(const std::string& key) {
  const auto seen = observe(api_, caches_, options_, key, clock_.now());
  if (!seen) return seen.error();
  if (!*seen) return Outcome::kSuccess;
  const Decision decision = reconcile(**seen);
  if (decision.requeue_after) queue_.add_after(key, *decision.requeue_after);
  if (decision.actions.empty()) {
    return decision.requeue_after ? Outcome::kRequeueAfter : Outcome::kSuccess;
  }
  if (const auto failed = performer_.perform((*seen)->job, decision.actions)) {
    report(key, *failed);
    return failed->error;
  }
  if (has_more_to_do(decision)) {
    queue_.add(key);  // what was written is in the caches: go on from there
  } else {
    queue_.add_after(key, options_.counts_delay);
  }
  return Outcome::kRequeue;
}

void Worker::report(const std::string& key, const Failure& failure) {
  const auto job = caches_.jobs.get(key);  // with the status that this round may have written
  const Error& error = failure.error;
  if (job && !failure.taken_name.empty()) {
    if (const Actions actions = pass_by_taken_name(*job, failure.taken_name); !actions.empty()) {
      if (const auto failed = performer_.perform(*job, actions)) {
        log_warn("taken name not passed by", {{"job", key}, {"error", failed->error.message}});
      }
      return;
    }
  }
  const int before = queue_.failures(key);
  if (!job || failure.event_reason.empty() || !is_worth_telling(error.code, before)) return;
  Actions actions = is_refused_start(*job, failure)
                        ? take_back(*job, error.message)
                        : report_refusal(*job, failure.event_reason, error.message, clock_.now());
  const bool is_first = before == 0 || !is_worth_telling(error.code, before - 1);
  if (is_final(job->status.phase) && is_first) {  // its status is not written any more
    actions = {warning_event(failure.event_reason, error.message)};
  }
  if (const auto failed = performer_.perform(*job, actions)) {
    log_warn("refusal not written on the job", {{"job", key}, {"error", failed->error.message}});
  }
}

// Without an answer that may change by itself, for something that the base gang cannot start
// without.
bool Worker::is_refused_start(const job::Job& job, const Failure& failure) const {
  const bool is_refused = failure.event_reason == kFailedCreate && is_definite(failure.error.code);
  const bool is_starting = !job.meta.deleting && job.status.phase == job::Phase::kCreated;
  return is_refused && is_starting && !caches_.pod_groups.by_index(job.meta.uid).empty();
}

Actions Worker::take_back(const job::Job& job, const std::string& words) const {
  Observed seen;
  seen.job = job;
  seen.retry_delay = options_.retry_delay;
  seen.now = clock_.now();
  Turn turn = turn_of_refusal(seen, words);
  return {UpdateStatus{std::move(turn.status)}, std::move(turn.event)};
}

}  // namespace nervex::controller
