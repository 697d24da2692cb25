// cli/logs/read_log.h - how is one pod's log read, over lost connections and restarts?
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "kube/api.h"
#include "kube/model/pod.h"

namespace nervex::cli {

struct LogOptions {
  std::string container;    // "": the pod's main one
  bool follow = false;      // until the container has ended
  bool previous = false;    // of the container before its last restart
  std::optional<int> tail;  // only the last lines
};

// Calls `on_line` for each line, once. Following, it reconnects with back-off when the connection
// breaks, the API server is away or answers 429, and waits for a container that has not started.
// Returns why the pod ended: "completed", "OOMKilled, exit code 137", "was deleted"; "" if it did
// not end: not following, or `stop` was requested. An Error: the log cannot be read.
Result<std::string> read_log(kube::Api& api, const kube::Pod& pod, const LogOptions& options,
                             const std::function<void(std::string_view line)>& on_line,
                             const std::stop_token& stop);

// The container that decides about the pod.
std::string main_container(const kube::Pod& pod);

}  // namespace nervex::cli
