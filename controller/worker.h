// controller/worker.h - what happens when it is a job's turn? Observe, decide, act, and try again;
// on which threads, counted how.
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
#include "controller/observe/observe.h"
#include "controller/observe/stores.h"
#include "kube/api.h"
#include "kube/cache/reflectors.h"
#include "kube/leader/leadership.h"
#include "kube/work_queue.h"

namespace nervex::controller {

// How a round ended: controller-runtime's words for its metrics.
enum class Outcome {
  kSuccess,       // nothing is left to do
  kRequeue,       // something was written: the next round goes on from there
  kRequeueAfter,  // look again later even if nothing changes
  kError,         // the key comes again with back-off
};

// Thread-safe; the queue sees to it that one job is never in two threads.
class Worker {
 public:
  Worker(kube::Api& api, Stores& stores, Queues& queues, Performer& performer, const Clock& clock,
         ObserveOptions options);

  // One round for the job `key`. Never throws. Failures are logged and the key comes again with the
  // queue's back-off; what the API server refuses for good is written on the job too.
  Outcome process(const std::string& key);

 private:
  Result<Outcome> work(const std::string& key);
  // Releases the pods of a deleted job, of which nothing more is recorded, and deletes its orphaned
  // PodGroups. No other program does.
  Result<Nothing> let_orphans_go(const std::string& key,
                                 const std::optional<kube::Unreadable>& unreadable);
  void report_unreadable(const std::string& key, const kube::Unreadable& what);
  // The namespace's Service goes with the last job of the namespace.
  Result<Nothing> remove_unused_service(const std::string& ns);
  void queue_slices(const std::string& key, const Actions& actions) const;
  void coalesce_status(const job::Job& job, Decision& decision) const;
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

// -- controller-runtime's metrics of rounds, of this controller

inline constexpr const char* kControllerName = "nervexjob";

// controller_runtime_reconcile_*, looked up once; thread-safe.
class RoundMetrics {
 public:
  RoundMetrics(Metrics& metrics, int workers);

  // While a round is under way.
  CountedIn begin() const { return CountedIn(active_); }
  void count(Outcome outcome, std::chrono::nanoseconds took) const;
  // worker.process(), counted.
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

// -- which threads do the work, and when may they begin?

// Threads from start() until stop(). None decides anything before this process leads and all caches
// have been brought up to date since: a cache that is half full makes pods twice,
// and one that lacks the last writes of the leader before us deletes pods that are wanted.
// Meanwhile the queues collect what the watches report.
class Runner {
 public:
  using Process = std::function<void(const std::string& key)>;

  Runner(kube::Leadership& leadership, kube::Reflectors& caches);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Gives each key of the queue to `process`, on so many threads. For each queue once.
  void start(kube::WorkQueue& queue, int threads, const Process& process);
  // No round begins any more; waits for those under way. Idempotent.
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
