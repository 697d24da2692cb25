// controller/worker.h - what happens when it is a job's turn? Observe, decide, act, and try again.
#pragma once

#include <string>

#include "base/clock.h"
#include "controller/act/perform.h"
#include "controller/observe/caches.h"
#include "controller/observe/observe.h"
#include "kube/api.h"
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
  Worker(kube::Api& api, Caches& caches, kube::WorkQueue& queue, Performer& performer,
         const Clock& clock, ObserveOptions options);

  // One round for the job `key`. Never throws. Failures are logged and the key comes again with the
  // queue's back-off; what the API server refuses for good is written on the job too.
  Outcome process(const std::string& key);

 private:
  Result<Outcome> work(const std::string& key);
  Result<Nothing> release_orphans(const std::string& key);
  // Writes on the job what it should tell of the failure.
  void report(const std::string& key, const Failure& failure);

  kube::Api& api_;
  Caches& caches_;
  kube::WorkQueue& queue_;
  Performer& performer_;
  const Clock& clock_;
  const ObserveOptions options_;
};

}  // namespace nervex::controller
