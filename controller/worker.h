// controller/worker.h - how is one job of the queue processed? Observe, decide, act, and retry;
// with threads and metrics.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "controller/act/perform.h"
#include "controller/decide/reconcile.h"
#include "controller/observe/kept_templates.h"
#include "controller/observe/observe.h"
#include "controller/observe/stores.h"
#include "kube/api.h"
#include "kube/cache/reflectors.h"
#include "kube/leader/leadership.h"
#include "kube/work_queue.h"

namespace nervex::controller {

// How a round ended, in the words of controller-runtime's metrics.
enum class Outcome {
  kSuccess,       // nothing is left to do
  kRequeue,       // something was written: the next round continues
  kRequeueAfter,  // look again later even if nothing changes
  kError,         // the key is retried with back-off
};

// Thread-safe; the queue never gives one job to two threads.
class Worker {
 public:
  Worker(kube::Api& api, Stores& stores, Queues& queues, Performer& performer, const Clock& clock,
         ObserveOptions options);

  // One round for the job `key`. Never throws. Failures are logged and retried with the queue's
  // back-off; permanent refusals of the API server are also written to the job.
  Outcome process(const std::string& key);

 private:
  Result<Outcome> work(const std::string& key);
  // Releases the pods of a deleted job, which are no longer recorded, ends those that a limit or a
  // drain of their queue covers, and deletes its orphaned PodGroups. No other program does.
  Result<Nothing> let_orphans_go(const std::string& key,
                                 const std::optional<kube::Unreadable>& unreadable);
  void report_unreadable(const std::string& key, const kube::Unreadable& what);
  // Deletes the namespace's Service with its last job.
  Result<Nothing> remove_unused_service(const std::string& ns);
  void queue_slices(const std::string& key, const Actions& actions) const;
  void coalesce_status(const Observed& seen, Decision& decision) const;
  // Reports the failure on the job.
  void report(const std::string& key, const Failure& failure);

  kube::Api& api_;
  Stores& stores_;
  kube::WorkQueue& queue_;
  kube::WorkQueue& slice_queue_;
  Performer& performer_;
  const Clock& clock_;
  const ObserveOptions options_;
};

// -- controller-runtime's metrics of this controller's rounds

inline constexpr const char* kControllerName = "nervexjob";

// controller_runtime_reconcile_*, looked up once; thread-safe.
class RoundMetrics {
 public:
  RoundMetrics(Metrics& metrics, int workers);

  // For the duration of a round.
  CountedIn begin() const { return CountedIn(active_); }
  void count(Outcome outcome, std::chrono::nanoseconds took) const;
  // Calls worker.process() and counts it.
  void process(Worker& worker, const std::string& key) const;

 private:
  const Counter success_;
  const Counter error_;
  const Counter requeue_;
  const Counter requeue_after_;
  const Counter errors_;
  const Histogram seconds_;
  const Gauge active_;
};

// -- which threads run the rounds, and when may they begin?

// Threads from start() until stop(). No round begins before this process leads and all caches have
// been refreshed since: with an incomplete cache it would create pods twice, and with one that
// lacks the previous leader's last writes it would delete wanted pods. Meanwhile the queues collect
// what the watches report.
class Runner {
 public:
  using Process = std::function<void(const std::string& key)>;

  Runner(kube::Leadership& leadership, kube::Reflectors& caches);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Passes each key of the queue to `process`, on `threads` threads. Call once per queue.
  void start(kube::WorkQueue& queue, int threads, const Process& process);
  // No further round begins; waits for those in progress. Idempotent.
  void stop();

 private:
  void run(const std::stop_token& stop, kube::WorkQueue& queue, const Process& process);

  kube::Leadership& leadership_;
  kube::Reflectors& caches_;
  std::once_flag refreshed_;
  std::vector<kube::WorkQueue*> queues_;
  std::vector<std::jthread> threads_;
};

}  // namespace nervex::controller
