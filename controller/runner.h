// controller/runner.h - which threads do the work?
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "controller/worker.h"
#include "kube/work_queue.h"

namespace nervex::controller {

// `threads` workers from start() until destruction, which waits for the rounds under way. None
// decides anything before `not_synced` returns "": a cache that is half full makes pods twice.
class Runner {
 public:
  Runner(kube::WorkQueue& queue, Worker& worker, std::function<std::string()> not_synced);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void start(int threads);

 private:
  void run(const std::stop_token& stop);

  kube::WorkQueue& queue_;
  Worker& worker_;
  const std::function<std::string()> not_synced_;
  std::vector<std::jthread> threads_;
};

}  // namespace nervex::controller
