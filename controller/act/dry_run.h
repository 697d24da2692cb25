// controller/act/dry_run.h - asks the API server whether it would create the pods of jobs that
// wait.
#pragma once

#include <chrono>
#include <stop_token>

#include "base/clock.h"
#include "controller/observe/observe.h"
#include "controller/observe/stores.h"
#include "kube/api.h"
#include "kube/work_queue.h"

namespace nervex::controller {

// A slow webhook must not block this longer with one pod. The API server gets the same timeout.
inline constexpr std::chrono::seconds kPodDryRunTimeout{2};

// Answers the questions of Stores::dry_runs, one after the other on a thread of its own: a slow
// webhook would otherwise take the workers, or the writes, of jobs that start. A job's key comes
// into the queue when its answer is there. What is asked is stored nowhere: after a restart, or by
// the next leader, each job that waits is asked about again.
class PodDryRuns {
 public:
  // All are borrowed. `api` should not wait for longer than kPodDryRunTimeout.
  PodDryRuns(kube::Api& api, Stores& stores, kube::WorkQueue& queue, const Clock& clock,
             ObserveOptions options);

  // Until `stop` is requested.
  void run(const std::stop_token& stop);
  // The oldest question, if there is one: false if not.
  bool answer_next();

 private:
  void answer(const DryRuns::Question& question);
  Result<std::string> send(const std::string& ns, const Json& pod);

  kube::Api& api_;
  Stores& stores_;
  kube::WorkQueue& queue_;
  const Clock& clock_;
  const ObserveOptions options_;
};

}  // namespace nervex::controller
