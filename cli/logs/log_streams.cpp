#include "cli/logs/log_streams.h"

#include <utility>

namespace nervex::cli {

LogStreams::LogStreams(kube::Api& api, LogOptions options, Calls calls)
    : api_(api), options_(std::move(options)), calls_(std::move(calls)) {}

LogStreams::~LogStreams() { stop_.request_stop(); }

bool LogStreams::start(const kube::Pod& pod) {
  if (known_.contains(pod.meta.uid)) return true;
  {
    const MutexLock lock(mutex_);
    if (running_ == kMost) return false;
    ++running_;
  }
  known_.insert(pod.meta.uid);
  threads_.emplace_back([this, pod] { follow(pod); });
  return true;
}

void LogStreams::follow(const kube::Pod& pod) {
  const auto on_line = [&](std::string_view line) {
    const MutexLock lock(calls_mutex_);
    calls_.on_line(pod, line);
  };
  const auto end = read_log(api_, pod, options_, on_line, stop_.get_token());
  {
    const MutexLock lock(calls_mutex_);
    if (!stop_.stop_requested()) calls_.on_end(pod, end);
  }
  const MutexLock lock(mutex_);
  --running_;
}

void LogStreams::wait(MonoTime deadline, const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kLookAgain{50};
  const auto is_running = [this] {
    const MutexLock lock(mutex_);
    return running_ > 0;
  };
  while (is_running() && SystemClock().mono() < deadline) {
    if (sleep_unless_stopped(kLookAgain, stop)) return;
  }
}

}  // namespace nervex::cli
