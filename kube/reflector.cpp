#include "kube/reflector.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <random>

#include <fmt/format.h>

#include "base/log.h"
#include "kube/model/watch.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// A watch that ends sooner was not worth opening at once again (client-go's "very short watch").
constexpr auto kWorthwhile = 1s;

// After so many short watches the position itself is doubted: an etcd restored from a backup may
// never reach it again.
constexpr int kFailuresBeforeList = 20;

// How long to wait before the next try, doubling, and how long to watch: never in step with others.
class Pace {
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

void wait_for(milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

std::string with_query(const std::string& path, const std::string& query) {
  return path + (path.find('?') == std::string::npos ? "?" : "&") + query;
}

void upsert_or_log(const ReflectorSink& sink, const std::string& path, std::string_view json,
                   std::vector<std::string>* keys) {
  auto key = sink.upsert(json);
  if (!key) {
    log_error("object skipped", {{"path", path}, {"error", key.error().message}});
  } else if (keys != nullptr) {
    keys->push_back(*std::move(key));
  }
}

}  // namespace

Reflector::Reflector(Api& api, ReflectorOptions options, ReflectorSink sink)
    : api_(api), options_(std::move(options)), sink_(std::move(sink)) {}

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
  std::string version;  // empty: a list is due
  int failures = 0;     // watches in a row
  while (!stop.stop_requested()) {
    if (version.empty()) {
      auto listed = list(stop);
      if (listed) {
        version = *std::move(listed);
        continue;
      }
      log_warn("list failed", {{"path", options_.path}, {"error", listed.error().message}});
      wait_for(pace.next_backoff(), stop);
      continue;
    }
    const auto started = SteadyClock::now();
    const auto ended = watch(version, pace.watch_timeout_seconds(), stop);
    if (stop.stop_requested()) return;
    const bool was_long = SteadyClock::now() - started >= kWorthwhile;
    if (was_long) pace.reset_backoff();
    failures = ended || was_long ? 0 : failures + 1;
    if (!ended) log_info("watch ended", {{"path", options_.path}, {"why", ended.error().message}});
    const bool must_list = !ended && ended.error().code != Code::kTransient;
    if (must_list || failures >= kFailuresBeforeList) version.clear();
    if (was_long && (ended || must_list)) continue;
    wait_for(pace.next_backoff(), stop);
  }
}

Result<std::string> Reflector::list(const std::stop_token& stop) {
  std::vector<std::string> keys;
  std::string continue_token;
  while (!stop.stop_requested()) {
    std::string query = fmt::format("limit={}", options_.page_size);
    if (!continue_token.empty()) query += "&continue=" + percent_encode(continue_token);
    const auto body = api_.send({"GET", with_query(options_.path, query), "", ""});
    if (!body) return body.error();
    auto page = split_list(*body);
    if (!page) return page.error();
    for (const auto item : page->items) upsert_or_log(sink_, options_.path, item, &keys);
    continue_token = std::move(page->continue_token);
    if (!continue_token.empty()) continue;
    if (page->resource_version.empty()) return Error{Code::kInvalid, "list: no resourceVersion"};
    sink_.retain(keys);
    synced_ = true;
    return std::move(page->resource_version);
  }
  return std::string();
}

Result<Nothing> Reflector::watch(std::string& resource_version, int timeout_seconds,
                                 const std::stop_token& stop) {
  const std::string query =
      fmt::format("watch=true&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                  percent_encode(resource_version), timeout_seconds);
  Result<Nothing> seen = ok();
  const auto on_line = [&](std::string_view line) {
    if (line.empty()) return true;
    auto event = split_watch_line(line);
    if (!event) {
      seen = event.error();
      return false;
    }
    apply(*event);
    if (!event->resource_version.empty()) resource_version = std::move(event->resource_version);
    return true;
  };
  const auto streamed = api_.stream(with_query(options_.path, query), on_line, stop);
  return seen ? streamed : seen;
}

void Reflector::apply(const WatchEvent& event) {
  switch (event.type) {
    case WatchType::kAdded:
    case WatchType::kModified:
      upsert_or_log(sink_, options_.path, event.object, nullptr);
      break;
    case WatchType::kDeleted:
      sink_.remove(event.object);
      break;
    case WatchType::kBookmark:
      break;  // only its resourceVersion counts
  }
}

}  // namespace nervex::kube
