#include "base/http/request_metrics.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace nervex {
namespace {

// One counter for each status and verb. A look-up in Metrics takes longer than reading a small
// request, because names are checked and texts hashed. Thread-safe.
class RepliesTotal {
 public:
  RepliesTotal(Metrics& metrics, RequestMetricNames names, MetricLabels labels)
      : metrics_(metrics), names_(std::move(names)), labels_(std::move(labels)) {}

  void add(const HttpRequest& request, int status) {
    const auto& verbs = names_.verbs;
    const auto verb = std::find(verbs.begin(), verbs.end(), request.method);
    const MutexLock lock(mutex_);
    auto counter = counters_.find({status, verb});
    if (counter == counters_.end()) {
      MetricLabels all = labels_;
      all.emplace("code", std::to_string(status));
      if (!verbs.empty()) all.emplace("verb", verb != verbs.end() ? *verb : "other");
      const Counter made = metrics_.counter(names_.total, names_.help + ".", all);
      counter = counters_.emplace(Key(status, verb), made).first;
    }
    counter->second.add();
  }

 private:
  using Key = std::pair<int, std::vector<std::string>::const_iterator>;

  Metrics& metrics_;
  const RequestMetricNames names_;
  const MetricLabels labels_;
  Mutex mutex_;
  std::map<Key, Counter> counters_ GUARDED_BY(mutex_);
};

}  // namespace

HttpHandler counted(Metrics& metrics, const RequestMetricNames& names, const MetricLabels& labels,
                    HttpHandler handler) {
  const Histogram seconds = metrics.histogram(
      names.seconds, names.help + ": time to the reply, in seconds.", request_bounds(), labels);
  std::optional<Gauge> in_flight;
  if (!names.in_flight.empty()) {
    in_flight = metrics.gauge(names.in_flight, names.help + " being answered.", labels);
  }
  const auto total = std::make_shared<RepliesTotal>(metrics, names, labels);
  return [=, handler = std::move(handler)](const HttpRequest& request) {
    std::optional<CountedIn> under_way;
    if (in_flight) under_way.emplace(*in_flight);
    const MonoTime began = SystemClock().mono();
    try {
      HttpReply reply = handler(request);
      seconds.observe(SystemClock().mono() - began);
      total->add(request, reply.status);
      return reply;
    } catch (...) {
      seconds.observe(SystemClock().mono() - began);
      total->add(request, 500);
      throw;
    }
  };
}

}  // namespace nervex
