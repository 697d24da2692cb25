#include "cli/follow.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "kube/model/watch.h"
#include "kube/paged_list.h"

namespace nervex::cli {
namespace {

constexpr int kPageSize = 500;
constexpr std::chrono::milliseconds kBetweenWatches{100};  // that the server ends normally
constexpr std::chrono::milliseconds kFirstBackoff{500};
constexpr std::chrono::milliseconds kMaxBackoff{8'000};

class Follower {
 public:
  Follower(kube::Api& api, const std::string& path, const FollowCalls& calls,
           const std::stop_token& stop)
      : api_(api), path_(path), calls_(calls), stop_(stop) {}

  Result<Nothing> run() {
    if (auto listed = list_first(); !listed) return listed;
    if (!is_over() && !calls_.on_listed()) return ok();
    while (!is_over()) {
      const auto ended = position_.empty() ? list() : watch();
      if (is_over()) break;
      if (ended) {
        is_lost_ = false;
        backoff_ = kFirstBackoff;
        sleep_unless_stopped(kBetweenWatches, stop_);
        continue;
      }
      if (ended.error().code == Code::kExpired) {
        position_.clear();
        backoff_ = kFirstBackoff;  // the server answers
      }
      wait_after(ended.error());
    }
    return ok();
  }

 private:
  bool is_over() const { return is_done_ || stop_.stop_requested(); }

  Result<Nothing> list_first() {
    for (;;) {
      auto listed = list();
      if (is_over()) return ok();
      if (listed) break;
      const Code code = listed.error().code;
      const bool may_retry = code == Code::kExpired ||  // between two pages
                             (code == Code::kTransient && calls_.retries_first_list);
      if (!may_retry) return listed;
      wait_after(listed.error());
    }
    is_lost_ = false;
    backoff_ = kFirstBackoff;
    return ok();
  }

  void wait_after(const Error& error) {
    if (!is_lost_) calls_.on_lost(error);
    is_lost_ = true;
    sleep_unless_stopped(backoff_, stop_);
    backoff_ = std::min(backoff_ * 2, kMaxBackoff);
  }

  void take(const std::string& key, const Json* object) {
    if (!is_over() && !calls_.on_object(key, object)) is_done_ = true;
  }

  // Unchanged objects of an earlier list are not reported again.
  Result<Nothing> take_text(std::string_view text, std::map<std::string, std::string>& versions) {
    const auto id = kube::identify(text);
    if (!id) return id.error();
    const auto known = versions_.find(id->key);
    const bool is_new = known == versions_.end() || known->second != id->resource_version;
    versions[id->key] = id->resource_version;
    if (!is_new) return ok();
    const auto object = kube::parse_json(text);
    if (!object) return object.error();
    take(id->key, &*object);
    return ok();
  }

  Result<Nothing> list() {
    std::map<std::string, std::string> versions;
    auto version = kube::list_in_pages(
        api_, path_, kPageSize, [&](std::string_view text) { return take_text(text, versions); },
        stop_);
    if (!version) {
      for (auto& [key, seen] : versions) versions_[key] = std::move(seen);  // was reported
      return version.error();
    }
    for (const auto& [key, old] : versions_) {
      if (!versions.contains(key)) take(key, nullptr);
    }
    versions_ = std::move(versions);
    position_ = *version;
    return ok();
  }

  Result<Nothing> watch() {
    std::optional<Error> problem;
    const auto on_line = [&](std::string_view line) {
      const auto taken = take_line(line);
      if (!taken) problem = taken.error();
      return taken && !is_over();
    };
    auto ended =
        api_.stream(kube::with_query(
                        path_, fmt::format("watch=true&allowWatchBookmarks=true&resourceVersion={}",
                                           kube::percent_encode(position_))),
                    on_line, stop_);
    if (problem) return *problem;
    return ended;
  }

  Result<Nothing> take_line(std::string_view line) {
    const auto event = kube::split_watch_line(line);
    if (!event) return event.error();
    if (!event->resource_version.empty()) position_ = event->resource_version;
    if (event->type == kube::WatchType::kBookmark) return ok();
    if (event->type != kube::WatchType::kDeleted) return take_text(event->object, versions_);
    const auto id = kube::identify(event->object);
    if (!id) return id.error();
    versions_.erase(id->key);
    take(id->key, nullptr);
    return ok();
  }

  kube::Api& api_;
  const std::string& path_;
  const FollowCalls& calls_;
  const std::stop_token& stop_;
  std::map<std::string, std::string> versions_;  // by key
  std::string position_;                         // "": list again
  bool is_done_ = false;
  bool is_lost_ = false;
  std::chrono::milliseconds backoff_ = kFirstBackoff;
};

}  // namespace

Result<Nothing> follow(kube::Api& api, const std::string& path, const FollowCalls& calls,
                       const std::stop_token& stop) {
  return Follower(api, path, calls, stop).run();
}

std::string object_path(const kube::ResourceKind& kind, const std::string& ns,
                        const std::string& name) {
  return kube::with_query(kube::api_path(kind, ns),
                          "fieldSelector=metadata.name%3D" + kube::percent_encode(name));
}

}  // namespace nervex::cli
