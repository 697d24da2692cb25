#include "base/http/request_metrics.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace nervex {
namespace {

// One counter for each value of the label that replies decide. Looking one up in Metrics takes more
// time than reading a small request: names are checked, and texts hashed. Thread-safe.
class RepliesTotal {
 public:
  RepliesTotal(Metrics& metrics, const RequestMetricNames& names, MetricLabels labels)
      : metrics_(metrics),
        name_(names.total),
        help_(names.help + "."),
        labels_(std::move(labels)) {}

  void add(MetricLabels decided) {
    const MutexLock lock(mutex_);
    auto counter = counters_.find(decided);
    if (counter == counters_.end()) {
      MetricLabels all = decided;
      all.insert(labels_.begin(), labels_.end());
      const Counter made = metrics_.counter(name_, help_, all);
      counter = counters_.emplace(std::move(decided), made).first;
    }
    counter->second.add();
  }

 private:
  Metrics& metrics_;
  const std::string name_;
  const std::string help_;
  const MetricLabels labels_;
  Mutex mutex_;
  std::map<MetricLabels, Counter> counters_ GUARDED_BY(mutex_);
};

}  // namespace

HttpHandler counted(Metrics& metrics, const RequestMetricNames& names, const MetricLabels& labels,
                    std::function<MetricLabels(const HttpRequest&, const HttpReply&)> label_of,
                    HttpHandler handler) {
  const Histogram seconds = metrics.histogram(names.seconds, names.help + ": time to the reply.",
                                              request_bounds(), labels);
  std::optional<Gauge> in_flight;
  if (!names.in_flight.empty()) {
    in_flight = metrics.gauge(names.in_flight, names.help + " being answered.", labels);
  }
  const auto count = [total = std::make_shared<RepliesTotal>(metrics, names, labels),
                      label_of = std::move(label_of)](const HttpRequest& request,
                                                      const HttpReply& reply) {
    total->add(label_of(request, reply));
  };
  return [=, handler = std::move(handler)](const HttpRequest& request) {
    std::optional<CountedIn> under_way;
    if (in_flight) under_way.emplace(*in_flight);
    const MonoTime began = SystemClock().mono();
    try {
      HttpReply reply = handler(request);
      seconds.observe(SystemClock().mono() - began);
      count(request, reply);
      return reply;
    } catch (...) {
      seconds.observe(SystemClock().mono() - began);
      count(request, HttpReply{500, ""});
      throw;
    }
  };
}

MetricLabels code_label(const HttpRequest& /*request*/, const HttpReply& reply) {
  return {{"code", std::to_string(reply.status)}};
}

}  // namespace nervex
