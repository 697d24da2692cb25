#include "kube/cache/reflector.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <random>

#include <fmt/format.h>

#include "base/log.h"
#include "kube/model/meta.h"
#include "kube/model/watch.h"
#include "kube/paged_list.h"

namespace nervex::kube {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// Doubling back-off and watch durations, jittered so that reflectors do not act in step.
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

// After this many broken streaming lists, lists come in pages: these get further each time.
constexpr int kMostBrokenStreams = 3;

// A watch with bookmarks gets one two seconds before it ends (kube-apiserver's
// cacheWatcher.nextBookmarkTime), so about one second after it began.
constexpr int kShortWatchSeconds = 3;

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
    } catch (const std::exception& e) {  // a cache that gets no more updates must not be used
      log_error("reflector failed", {{"path", options_.path}, {"error", e.what()}});
      std::abort();
    }
  });
}

void Reflector::run(const std::stop_token& stop) {
  Pace pace(options_.backoff_initial, options_.backoff_max);
  int failures = 0;  // consecutive failed watches
  while (!stop.stop_requested()) {
    if (const auto followed = follow_question(); !followed) {
      log_failure("cannot read the newest resource version", followed.error());
      back_off(pace.next_backoff(), stop);
      continue;
    }
    if (position_.empty() && !streams_lists_) {
      const auto listed = list_pages(stop);
      if (listed) continue;
      if (is_missing(listed.error())) {
        note_missing(true);
        back_off(*options_.retry_missing, stop);
        continue;
      }
      log_failure("list failed", listed.error());
      back_off(pace.next_backoff(), stop);
      continue;
    }
    const bool was_list = position_.empty();
    const bool is_short = !was_list && is_refreshing();
    const RequestEnd end =
        stream(is_short ? kShortWatchSeconds : pace.watch_timeout_seconds(), stop);
    if (stop.stop_requested()) return;
    if (was_list && end.error == Code::kNotFound && options_.retry_missing) {
      note_missing(true);
      back_off(*options_.retry_missing, stop);
      continue;
    }
    if (was_list && !keeps_streaming(end)) continue;
    if (end.lasted >= kWorthwhile) pace.reset_backoff();
    const NextTry next = after_watch(end, failures);
    failures = next.failures;
    if (next.list) position_.clear();
    if (!next.at_once) back_off(pace.next_backoff(), stop);
  }
}

// A new question is worth an immediate retry.
void Reflector::back_off(milliseconds time, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  asked_.wait_for(mutex_, stop, time, [this] { return freshness_.asked() != noticed_; });
}

// ---- is the cache up to date?

void Reflector::refresh() {
  std::optional<std::stop_source> watch;
  {
    const MutexLock lock(mutex_);
    freshness_.ask();
    asked_.notify_all();
    watch = watch_;
  }
  if (watch) watch->request_stop();
}

bool Reflector::is_refreshing() const {
  const MutexLock lock(mutex_);
  return freshness_.is_open();
}

Result<Nothing> Reflector::check_fresh(std::string_view what) const {
  const MutexLock lock(mutex_);
  if (!freshness_.is_open()) return ok();
  return Error{Code::kTransient, fmt::format("{} may be out of date{}{}", what,
                                             failure_.empty() ? "" : ": ", failure_)};
}

Result<Nothing> Reflector::follow_question() {
  bool is_expecting = false;
  {
    const MutexLock lock(mutex_);
    noticed_ = freshness_.asked();
    if (position_.empty() || !freshness_.is_open()) return ok();
    is_expecting = freshness_.is_expecting();
  }
  // A short watch did not get there: the API server's own cache may lag behind.
  if (is_expecting || listed_ <= options_.few_objects) {
    position_.clear();
    return ok();
  }
  auto version = newest_version();
  if (!version) return version.error();
  {
    const MutexLock lock(mutex_);
    if (!freshness_.expect(noticed_, *std::move(version), position_)) position_.clear();
  }
  options_.on_progress();
  return ok();
}

// Without a resourceVersion this is a consistent read, even with a small limit.
Result<std::string> Reflector::newest_version() {
  const auto body = api_.send({"GET", with_query(options_.path, "limit=1"), "", ""});
  if (!body) return body.error();
  auto page = split_list(*body);
  if (!page) return page.error();
  if (page->resource_version.empty()) return Error{Code::kInvalid, "list: no resourceVersion"};
  return std::move(page->resource_version);
}

bool Reflector::may_be_ended(const std::stop_source& request) {
  const MutexLock lock(mutex_);
  watch_ = request;
  return freshness_.asked() == noticed_;
}

Result<Nothing> Reflector::check_synced(std::string_view what) const {
  if (synced()) return ok();
  const MutexLock lock(mutex_);
  return Error{Code::kTransient, fmt::format("{} are not listed yet{}{}", what,
                                             failure_.empty() ? "" : ": ", failure_)};
}

// The end of a watch is expected; but without a first list the program does nothing.
void Reflector::log_failure(const char* event, const Error& error) {
  const bool is_refused = error.code == Code::kUnauthorized || error.code == Code::kForbidden;
  const bool is_ordinary = synced() && !is_refused;
  const auto log = is_ordinary ? log_info : log_warn;
  log(event, {{"path", options_.path}, {"error", error.message}});
  {
    const MutexLock lock(mutex_);
    if (!synced() || freshness_.is_open()) failure_ = error.message;
  }
  if (refused_.exchange(is_refused) != is_refused) options_.on_progress();
}

bool Reflector::is_missing(const Error& error) const {
  return options_.retry_missing && error.code == Code::kNotFound;
}

// The kind was removed, and all its objects with it.
void Reflector::note_missing(bool is_missing) {
  if (is_missing) {
    begin_list();
    finish_list("");
  }
  if (is_kind_missing_ == is_missing) return;
  is_kind_missing_ = is_missing;
  log_info(is_missing ? "kind is not installed" : "kind is installed", {{"path", options_.path}});
  options_.on_missing(is_missing);
}

bool Reflector::keeps_streaming(const RequestEnd& end) {
  if (end.is_complete) broken_streams_ = 0;
  if (broke_off(end)) ++broken_streams_;
  streams_lists_ = !refuses_streaming(end) && broken_streams_ < kMostBrokenStreams;
  if (!streams_lists_) log_info("switched to paginated lists", {{"path", options_.path}});
  return streams_lists_;
}

// ---- lists in pages

Result<Nothing> Reflector::list_pages(const std::stop_token& stop) {
  auto listed = list_pages_once(stop);
  if (listed || listed.error().code != Code::kExpired) return listed;
  // The position of the later pages has expired: etcd keeps five minutes of history by default.
  return list_pages_once(stop);
}

Result<Nothing> Reflector::list_pages_once(const std::stop_token& stop) {
  begin_list();
  auto version = list_in_pages(
      api_, options_.path, options_.page_size,
      [this](std::string_view item) {
        upsert_or_log(sink_, options_.path, item);
        return count_listed();
      },
      stop);
  if (!version) return version.error();
  if (!stop.stop_requested()) finish_list(*std::move(version));
  return ok();
}

void Reflector::begin_list() {
  {
    const MutexLock lock(mutex_);
    list_knows_ = freshness_.asked();
  }
  listed_ = 0;
  follows_list_ = true;
  sink_.begin_list();
}

Result<Nothing> Reflector::count_listed() {
  if (++listed_ <= options_.most_objects) return ok();
  return Error{Code::kInvalid,
               fmt::format("list: it has not ended after {} objects", options_.most_objects)};
}

void Reflector::finish_list(std::string version) {
  sink_.end_list(version);
  position_ = std::move(version);
  synced_ = true;
  refused_ = false;
  if (options_.retry_missing && !position_.empty()) note_missing(false);
  {
    const MutexLock lock(mutex_);
    freshness_.listed(list_knows_);
    if (!freshness_.is_open()) failure_.clear();
  }
  options_.on_progress();
}

// ---- streams

RequestEnd Reflector::stream(int timeout_seconds, const std::stop_token& stop) {
  const auto started = SteadyClock::now();
  const std::string query = stream_query(position_, timeout_seconds);
  std::stop_source request;  // ended by refresh() once its list is complete
  const std::stop_callback end_with(stop, [&request] { request.request_stop(); });
  RequestEnd end;
  if (position_.empty()) {
    begin_list();
  } else if (!may_be_ended(request)) {
    end.is_complete = true;
    return end;
  }
  Result<Nothing> taken = ok();
  const auto on_line = [&](std::string_view line) {
    if (line.empty()) return true;
    auto event = split_watch_line(line);
    const bool was_list = position_.empty();
    taken = event ? take(*std::move(event)) : event.error();
    end.brought_something = end.brought_something || taken.has_value();
    const bool is_listed = was_list && !position_.empty();
    return taken.has_value() && (!is_listed || may_be_ended(request));
  };
  auto streamed = api_.stream(with_query(options_.path, query), on_line, request.get_token());
  {
    const MutexLock lock(mutex_);
    watch_.reset();
  }
  if (!taken) streamed = taken;
  if (!streamed) {
    end.error = streamed.error().code;
    if (!is_missing(streamed.error())) log_failure("watch ended", streamed.error());
  }
  end.is_complete = !position_.empty();
  end.lasted = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - started);
  if (end.lasted >= kWorthwhile) follows_list_ = false;
  end.follows_list = follows_list_;
  return end;
}

Result<Nothing> Reflector::take(WatchEvent event) {
  const bool is_listing = position_.empty();
  switch (event.type) {
    case WatchType::kAdded:
    case WatchType::kModified:
      upsert_or_log(sink_, options_.path, event.object);
      if (!is_listing) break;
      if (auto counted = count_listed(); !counted) return counted;
      break;
    case WatchType::kDeleted:
      sink_.remove(event.object);
      break;
    case WatchType::kBookmark:
      if (!is_listing) break;  // only its resourceVersion is used
      if (!event.ends_initial_events || event.resource_version.empty()) {
        return Error{Code::kInvalid, "watch: a bookmark among the initial events"};
      }
      finish_list(std::move(event.resource_version));
      return ok();
  }
  // In the middle of a list there is no position to resume from.
  if (is_listing || event.resource_version.empty()) return ok();
  if (is_newer_version(position_, event.resource_version)) {
    return Error{Code::kExpired,
                 fmt::format("watch: went back from {} to {}", position_, event.resource_version)};
  }
  position_ = std::move(event.resource_version);
  follows_list_ = false;
  bool is_answered = false;
  {
    const MutexLock lock(mutex_);
    const bool was_open = freshness_.is_open();
    freshness_.reached(position_);
    is_answered = was_open && !freshness_.is_open();
  }
  if (is_answered) options_.on_progress();
  return ok();
}

}  // namespace nervex::kube
