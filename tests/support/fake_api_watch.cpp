// FakeApi's watches: which events a watcher gets, and when.
#include <algorithm>
#include <utility>

#include "kube/model/watch.h"
#include "tests/support/fake_api.h"

namespace nervex::testing {
namespace {

using kube::to_text;

constexpr const char* kTooOld = "too old resource version";

Json expired_status() {
  return {{"kind", "Status"},    {"apiVersion", "v1"}, {"status", "Failure"},
          {"reason", "Expired"}, {"code", 410},        {"message", kTooOld}};
}

// As kube-apiserver 1.26 and newer ones without the WatchList gate say it.
Json no_streaming_status() {
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"status", "Failure"},
          {"reason", "Invalid"},
          {"code", 422},
          {"message", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch"}};
}

std::string end_of_initial_events(std::int64_t version) {
  const Json meta = {{"resourceVersion", std::to_string(version)},
                     {"annotations", {{"k8s.io/initial-events-end", "true"}}}};
  return to_text({{"type", "BOOKMARK"}, {"object", {{"metadata", meta}}}});
}

}  // namespace

Result<Nothing> FakeApi::stream(const std::string& path,
                                const std::function<bool(std::string_view line)>& on_line,
                                std::stop_token stop) {
  std::unique_lock lock(mutex_);
  ++requests_;
  if (const auto fault = take_fault({"WATCH", path, "", ""})) return fault->error;
  Watch watch{.path = parse_path(path), .position = 0, .epoch = watch_epoch_, .over = false};
  const bool is_list = watch.path.query_value("sendInitialEvents") == "true";
  if (is_list && !streams_lists_) {
    return kube::status_error("fake API", 422, to_text(no_streaming_status()));
  }
  const std::string from = watch.path.query_value("resourceVersion");
  std::vector<std::string> lines;
  if (from.empty() || from == "0") {
    lines = first_lines(watch);
    if (is_list) lines.push_back(end_of_initial_events(watch.position));
  } else {
    watch.position = std::stoll(from);
    if (watch.position < compacted_) {
      if (compacted_as_status_) return Error{Code::kExpired, kTooOld};
      lines.push_back(to_text({{"type", "ERROR"}, {"object", expired_status()}}));
      watch.over = true;
    }
  }
  bool wants_more = true;
  bool is_counted = false;
  while (true) {
    lock.unlock();  // on_line may ask this API something
    for (const auto& line : lines) {
      wants_more = wants_more && !stop.stop_requested() && on_line(line);
    }
    lock.lock();
    if (!wants_more || watch.over || stop.stop_requested()) break;
    if (!std::exchange(is_counted, true)) ++open_watches_;  // its first lines were heard
    changed_.wait(lock, stop, [&] { return has_news(watch); });
    if (watch.epoch != watch_epoch_) break;
    lines = next_lines(watch);
  }
  if (is_counted) --open_watches_;
  return ok();
}

bool FakeApi::has_news(const Watch& watch) const {
  if (watch.epoch != watch_epoch_) return true;
  return !paused_ && !history_.empty() && history_.back().version > watch.position;
}

std::vector<std::string> FakeApi::first_lines(Watch& watch) const {
  std::vector<std::string> lines;
  watch.position = version_;
  const auto collection = objects_.find(watch.path.collection);
  if (collection == objects_.end()) return lines;
  for (const auto& [key, object] : collection->second) {
    if (!is_selected(watch.path, object)) continue;
    lines.push_back(to_text({{"type", "ADDED"}, {"object", object}}));
  }
  return lines;
}

std::vector<std::string> FakeApi::next_lines(Watch& watch) const {
  std::vector<std::string> lines;
  if (paused_) return lines;
  const auto first = std::upper_bound(
      history_.begin(), history_.end(), watch.position,
      [](std::int64_t position, const Event& event) { return position < event.version; });
  for (auto event = first; event != history_.end(); ++event) {
    std::string line = line_for(watch, *event);
    if (!line.empty()) lines.push_back(std::move(line));
    watch.position = event->version;
  }
  return lines;
}

std::vector<std::string> FakeApi::told(const std::string& path, std::int64_t after,
                                       std::int64_t up_to) const {
  std::unique_lock lock(mutex_);
  Watch watch{.path = parse_path(path), .position = after, .epoch = 0, .over = false};
  std::vector<std::string> lines;
  auto event = std::upper_bound(
      history_.begin(), history_.end(), after,
      [](std::int64_t position, const Event& next) { return position < next.version; });
  for (; event != history_.end() && event->version <= up_to; ++event) {
    std::string line = line_for(watch, *event);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

// As one watcher sees it: with selectors, an object that begins to match is new, one that ceases is
// gone. Empty: it does not concern this watcher.
std::string FakeApi::line_for(const Watch& watch, const Event& event) const {
  if (event.type == "BOOKMARK") {
    if (watch.path.query_value("allowWatchBookmarks") != "true") return {};
    return to_text({{"type", "BOOKMARK"}, {"object", event.after}});
  }
  if (event.collection != watch.path.collection) return {};
  const bool before = !event.before.is_null() && is_selected(watch.path, event.before);
  const bool after = event.type != "DELETED" && is_selected(watch.path, event.after);
  if (!before && !after) return {};
  const char* type = !before ? "ADDED" : after ? "MODIFIED" : "DELETED";
  return to_text({{"type", type}, {"object", event.after}});
}

}  // namespace nervex::testing
