#include "cli/logs/read_log.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/clock.h"
#include "cli/logs/log_cursor.h"
#include "cli/logs/pod_choice.h"
#include "job/counts.h"
#include "job/names.h"
#include "view/pod_problem.h"

namespace nervex::cli {
namespace {

constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::milliseconds kLongestPause{8'000};
// A container that has ended without a log, such as one that never started.
constexpr int kTriesAfterEnd = 3;

class LogReader {
 public:
  LogReader(kube::Api& api, const kube::Pod& pod, const LogOptions& options,
            const std::function<void(std::string_view)>& on_line, const std::stop_token& stop)
      : api_(api), pod_(pod), options_(options), on_line_(on_line), stop_(stop) {}

  Result<std::string> run() {
    int tries_after_end = 0;
    auto pause = kFirstPause;
    while (!stop_.stop_requested()) {
      const auto streamed = stream();
      if (!options_.follow) return streamed ? Result<std::string>("") : streamed.error();
      if (stop_.stop_requested()) break;
      // A starting API server answers 403 until its roles are read.
      if (!streamed && is_final(streamed.error()) && !has_connected_) return streamed.error();
      has_connected_ = has_connected_ || streamed;
      const auto end = find_end();
      if (end && (streamed || *end == kDeleted || ++tries_after_end == kTriesAfterEnd)) return *end;
      if (streamed) pause = kFirstPause;
      const auto wanted = streamed ? std::nullopt : streamed.error().retry_after;
      sleep_unless_stopped(
          wanted ? std::min<std::chrono::milliseconds>(*wanted, kLongestPause * 4) : pause, stop_);
      pause = std::min(pause * 2, kLongestPause);
    }
    return std::string();
  }

 private:
  static constexpr std::string_view kDeleted = "was deleted";

  static bool is_final(const Error& error) {
    return error.code == Code::kForbidden || error.code == Code::kInternal;
  }

  std::string path() const {
    std::string path =
        fmt::format("{}?container={}&timestamps=true",
                    kube::api_path(kube::kPods, pod_.meta.ns.str(), pod_.meta.name, "log"),
                    kube::percent_encode(options_.container.empty() ? main_container(pod_)
                                                                    : options_.container));
    if (options_.follow) path += "&follow=true";
    if (options_.previous) path += "&previous=true";
    if (!cursor_.since().empty()) {
      path += "&sinceTime=" + kube::percent_encode(cursor_.since());
    } else if (options_.tail) {
      path += fmt::format("&tailLines={}", *options_.tail);
    }
    return path;
  }

  Result<Nothing> stream() {
    cursor_.reconnect();
    return api_.stream(
        path(),
        [this](std::string_view line) {
          if (const auto text = cursor_.take(line)) on_line_(*text);
          return true;
        },
        stop_);
  }

  // Why the pod has ended; nullopt: it has not, or that is not known now.
  std::optional<std::string> find_end() {
    const auto body =
        api_.send({"GET", kube::api_path(kube::kPods, pod_.meta.ns.str(), pod_.meta.name), "", ""});
    if (!body) {
      const bool is_gone = body.error().code == Code::kNotFound;
      return is_gone ? std::optional(std::string(kDeleted)) : std::nullopt;
    }
    const auto now = kube::decode_pod(*body, chosen_pod_filter());
    if (!now) return std::nullopt;
    if (now->meta.uid != pod_.meta.uid) return std::string(kDeleted);
    const kube::ContainerState* state = job::main_state(*now);
    if (!now->is_finished() && (state == nullptr || !state->terminated)) return std::nullopt;
    const auto problem = view::find_problem(*now);
    return problem ? describe(*problem) : "completed";
  }

  kube::Api& api_;
  const kube::Pod& pod_;
  const LogOptions& options_;
  const std::function<void(std::string_view)>& on_line_;
  const std::stop_token& stop_;
  LogCursor cursor_;
  bool has_connected_ = false;
};

}  // namespace

Result<std::string> read_log(kube::Api& api, const kube::Pod& pod, const LogOptions& options,
                             const std::function<void(std::string_view line)>& on_line,
                             const std::stop_token& stop) {
  return LogReader(api, pod, options, on_line, stop).run();
}

std::string main_container(const kube::Pod& pod) {
  const std::string& named = kube::annotation(pod.meta, job::kMainContainerAnnotation);
  return named.empty() ? std::string(job::kMainContainer) : named;
}

}  // namespace nervex::cli
