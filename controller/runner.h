// controller/runner.h - which threads do the work, and when may they begin?
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "controller/metrics.h"
#include "controller/worker.h"
#include "kube/cache/reflectors.h"
#include "kube/leader/leadership.h"
#include "kube/work_queue.h"

namespace nervex::controller {

// Workers from start() until stop(). None decides anything before this process leads and all caches
// have been brought up to date since: a cache that is half full makes pods twice,
// and one that lacks the last writes of the leader before us deletes pods that are wanted.
// Meanwhile the queue collects what the watches tell.
class Runner {
 public:
  Runner(kube::WorkQueue& queue, Worker& worker, kube::Leadership& leadership,
         kube::Reflectors& caches, const RoundMetrics& metrics);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void start(int threads);
  // No round begins any more; waits for those under way. Idempotent.
  void stop();

 private:
  void run(const std::stop_token& stop);
  void work_on(const std::string& key);

  kube::WorkQueue& queue_;
  Worker& worker_;
  kube::Leadership& leadership_;
  kube::Reflectors& caches_;
  std::once_flag refreshed_;
  const RoundMetrics& metrics_;
  std::vector<std::jthread> threads_;
};

}  // namespace nervex::controller
