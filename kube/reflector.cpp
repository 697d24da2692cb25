#include "kube/reflector.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <random>

#include <fmt/format.h>

#include "base/log.h"
#include "base/stoppable_sleep.h"
#include "kube/model/meta.h"
#include "kube/model/watch.h"

namespace nervex::kube {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// How long to wait before the next try, doubling, and how long to watch: never in step with others.
class Reflector::Pace {
 public:
  Pace(milliseconds initial, milliseconds longest)
      : initial_(initial), longest_(longest), next_(initial), random_(std::random_device{}()) {}

  void reset_backoff() { next_ = initial_; }

  milliseconds next_backoff() {
    const double jitter = std::uniform_real_distribution<double>(0.5, 1.5)(random_);
    const auto wait = std::chrono::duration_cast<milliseconds>(next_ * jitter);
    next_ = std::min(next_ * 2, longest_);
    return wait;
  }

  int watch_timeout_seconds() { return std::uniform_int_distribution<int>(300, 600)(random_); }

 private:
  const milliseconds initial_;
  const milliseconds longest_;
  milliseconds next_;
  std::mt19937 random_;
};

namespace {

// A streaming list that breaks off so often is asked for in pages: they get further each time.
constexpr int kMostBrokenStreams = 3;

std::string with_query(const std::string& path, const std::string& query) {
  return path + (path.find('?') == std::string::npos ? "?" : "&") + query;
}

// No resourceVersion in a streaming list: "consistent read" (kubernetes.io/docs/reference/
// using-api/api-concepts, "Streaming lists").
std::string stream_query(const std::string& position, int timeout_seconds) {
  const std::string from = position.empty()
                               ? "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                               : "resourceVersion=" + percent_encode(position);
  return fmt::format("watch=true&allowWatchBookmarks=true&{}&timeoutSeconds={}", from,
                     timeout_seconds);
}

void upsert_or_log(const ReflectorSink& sink, const std::string& path, std::string_view json) {
  const auto done = sink.upsert(json);
  if (!done) log_error("object skipped", {{"path", path}, {"error", done.error().message}});
}

}  // namespace

Reflector::Reflector(Api& api, ReflectorOptions options, ReflectorSink sink)
    : api_(api),
      options_(std::move(options)),
      sink_(std::move(sink)),
      streams_lists_(options_.streaming_lists) {}

Reflector::~Reflector() = default;  // the thread is the last member: it is stopped and joined first

void Reflector::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    try {
      run(stop);
    } catch (const std::exception& e) {  // a cache that nobody feeds any more must not be used
      log_error("reflector failed", {{"path", options_.path}, {"error", e.what()}});
      std::abort();
    }
  });
}

void Reflector::run(const std::stop_token& stop) {
  Pace pace(options_.backoff_initial, options_.backoff_max);
  int failures = 0;  // watches in a row
  while (!stop.stop_requested()) {
    if (position_.empty() && !streams_lists_) {
      const auto listed = list_pages(stop);
      if (listed) continue;
      log_failure("list failed", listed.error());
      sleep_unless_stopped(pace.next_backoff(), stop);
      continue;
    }
    const bool was_list = position_.empty();
    const RequestEnd end = stream(pace.watch_timeout_seconds(), stop);
    if (stop.stop_requested()) return;
    if (was_list && !keeps_streaming(end)) continue;
    if (end.lasted >= kWorthwhile) pace.reset_backoff();
    const NextTry next = after_watch(end, failures);
    failures = next.failures;
    if (next.list) position_.clear();
    if (!next.at_once) sleep_unless_stopped(pace.next_backoff(), stop);
  }
}

std::string Reflector::not_synced(std::string_view what) const {
  if (synced()) return "";
  const MutexLock lock(mutex_);
  return fmt::format("{} are not listed yet{}{}", what, failure_.empty() ? "" : ": ", failure_);
}

// That a watch ends is a part of every day; but without a first list the program does nothing.
void Reflector::log_failure(const char* event, const Error& error) {
  const bool is_refused = error.code == Code::kUnauthorized || error.code == Code::kForbidden;
  const bool is_ordinary = synced() && !is_refused;
  const auto log = is_ordinary ? log_info : log_warn;
  log(event, {{"path", options_.path}, {"error", error.message}});
  const MutexLock lock(mutex_);
  if (!synced()) failure_ = error.message;
}

bool Reflector::keeps_streaming(const RequestEnd& end) {
  if (end.is_complete) broken_streams_ = 0;
  if (broke_off(end)) ++broken_streams_;
  streams_lists_ = !refuses_streaming(end) && broken_streams_ < kMostBrokenStreams;
  if (!streams_lists_) log_info("lists come in pages from now on", {{"path", options_.path}});
  return streams_lists_;
}

// ---- lists in pages

Result<Nothing> Reflector::list_pages(const std::stop_token& stop) {
  const auto listed = list_pages_once(stop);
  if (listed || listed.error().code != Code::kExpired) return listed;
  // The later pages were too old to be had: etcd keeps five minutes of history by default.
  return list_pages_once(stop);
}

Result<Nothing> Reflector::list_pages_once(const std::stop_token& stop) {
  std::string continue_token;
  sink_.begin_list();
  while (!stop.stop_requested()) {
    std::string query = fmt::format("limit={}", options_.page_size);
    if (!continue_token.empty()) query += "&continue=" + percent_encode(continue_token);
    const auto body = api_.send({"GET", with_query(options_.path, query), "", ""});
    if (!body) return body.error();
    auto page = split_list(*body);
    if (!page) return page.error();
    for (const auto item : page->items) upsert_or_log(sink_, options_.path, item);
    continue_token = std::move(page->continue_token);
    if (!continue_token.empty()) continue;
    if (page->resource_version.empty()) return Error{Code::kInvalid, "list: no resourceVersion"};
    finish_list(std::move(page->resource_version));
    return ok();
  }
  return ok();
}

void Reflector::finish_list(std::string version) {
  sink_.end_list(version);
  position_ = std::move(version);
  synced_ = true;
}

// ---- streams

RequestEnd Reflector::stream(int timeout_seconds, const std::stop_token& stop) {
  const auto started = SteadyClock::now();
  const std::string query = stream_query(position_, timeout_seconds);
  if (position_.empty()) sink_.begin_list();
  Result<Nothing> taken = ok();
  RequestEnd end;
  const auto on_line = [&](std::string_view line) {
    if (line.empty()) return true;
    auto event = split_watch_line(line);
    taken = event ? take(*std::move(event)) : event.error();
    end.brought_something = end.brought_something || taken.has_value();
    return taken.has_value();
  };
  auto streamed = api_.stream(with_query(options_.path, query), on_line, stop);
  if (!taken) streamed = taken;
  if (!streamed) {
    end.error = streamed.error().code;
    log_failure("watch ended", streamed.error());
  }
  end.is_complete = !position_.empty();
  end.lasted = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - started);
  return end;
}

Result<Nothing> Reflector::take(WatchEvent event) {
  const bool is_listing = position_.empty();
  switch (event.type) {
    case WatchType::kAdded:
    case WatchType::kModified:
      upsert_or_log(sink_, options_.path, event.object);
      break;
    case WatchType::kDeleted:
      sink_.remove(event.object);
      break;
    case WatchType::kBookmark:
      if (!is_listing) break;  // only its resourceVersion counts
      if (!event.ends_initial_events || event.resource_version.empty()) {
        return Error{Code::kInvalid, "watch: a bookmark amid the initial events"};
      }
      finish_list(std::move(event.resource_version));
      return ok();
  }
  // Amid a list there is no position to come back to.
  if (is_listing || event.resource_version.empty()) return ok();
  if (is_newer_version(position_, event.resource_version)) {
    return Error{Code::kExpired,
                 fmt::format("watch: went back from {} to {}", position_, event.resource_version)};
  }
  position_ = std::move(event.resource_version);
  return ok();
}

}  // namespace nervex::kube
