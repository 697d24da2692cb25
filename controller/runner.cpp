#include "controller/runner.h"

#include <chrono>
#include <utility>

namespace nervex::controller {

using std::chrono::milliseconds;

Runner::Runner(kube::WorkQueue& queue, Worker& worker, std::function<std::string()> not_synced)
    : queue_(queue), worker_(worker), not_synced_(std::move(not_synced)) {}

Runner::~Runner() {
  for (auto& thread : threads_) thread.request_stop();
  queue_.shut_down();
}  // the threads join

void Runner::start(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  }
}

void Runner::run(const std::stop_token& stop) {
  while (!not_synced_().empty()) {
    if (stop.stop_requested()) return;
    std::this_thread::sleep_for(milliseconds(20));
  }
  while (auto key = queue_.next()) {
    worker_.process(*key);
    queue_.done(*key);
  }
}

}  // namespace nervex::controller
