#include "controller/runner.h"

#include <utility>

#include "base/clock.h"

namespace nervex::controller {

Runner::Runner(kube::WorkQueue& queue, Worker& worker, kube::Leadership& leadership,
               kube::Reflectors& caches, const RoundMetrics& metrics)
    : queue_(queue), worker_(worker), leadership_(leadership), caches_(caches), metrics_(metrics) {}

Runner::~Runner() { stop(); }

void Runner::start(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  }
}

void Runner::stop() {
  for (auto& thread : threads_) thread.request_stop();
  queue_.shut_down();
  threads_.clear();  // they join
}

void Runner::run(const std::stop_token& stop) {
  if (!leadership_.wait(stop)) return;
  std::call_once(refreshed_, [this] { caches_.refresh(); });
  if (!caches_.wait_until_current(stop)) return;
  while (auto key = queue_.next()) {
    work_on(*key);
    queue_.done(*key);
  }
}

void Runner::work_on(const std::string& key) {
  const CountedIn active = metrics_.begin();
  const SystemClock clock;
  const MonoTime began = clock.mono();
  const Outcome outcome = worker_.process(key);
  metrics_.count(outcome, clock.mono() - began);
}

}  // namespace nervex::controller
