// cli/logs/log_streams.h - how are the logs of several pods followed at once?
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cli/logs/read_log.h"
#include "kube/api.h"
#include "kube/model/pod.h"

namespace nervex::cli {

// Each log has a thread from start() until the pod ends or this is destroyed. Calls are serialized.
class LogStreams {
 public:
  struct Calls {
    std::function<void(const kube::Pod&, std::string_view line)> on_line;
    // As read_log() returns it: why the pod ended, or why its log cannot be read.
    std::function<void(const kube::Pod&, const Result<std::string>& end)> on_end;
  };
  LogStreams(kube::Api& api, LogOptions options, Calls calls);
  ~LogStreams();
  LogStreams(const LogStreams&) = delete;
  LogStreams& operator=(const LogStreams&) = delete;

  // Once per pod; later calls for it do nothing. False: kMost logs are followed already.
  bool start(const kube::Pod& pod);
  // Until all have ended; at most until `deadline`, or until `stop` is requested.
  void wait(MonoTime deadline, const std::stop_token& stop);

  static constexpr std::size_t kMost = 64;

 private:
  void follow(const kube::Pod& pod);

  kube::Api& api_;
  const LogOptions options_;
  const Calls calls_;
  std::stop_source stop_;
  Mutex mutex_;
  std::size_t running_ GUARDED_BY(mutex_) = 0;
  Mutex calls_mutex_;                  // of calls_, which print
  std::set<std::string> known_;        // uids; of the starting thread
  std::vector<std::jthread> threads_;  // last: they use the other members
};

}  // namespace nervex::cli
