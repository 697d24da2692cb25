#include "base/http/request_metrics.h"

#include <optional>
#include <utility>

#include "base/clock.h"

namespace nervex {

HttpHandler counted(Metrics& metrics, const RequestMetricNames& names, const MetricLabels& labels,
                    std::function<MetricLabels(const HttpRequest&, const HttpReply&)> label_of,
                    HttpHandler handler) {
  const Histogram seconds = metrics.histogram(names.seconds, names.help + ": time to the reply.",
                                              request_bounds(), labels);
  std::optional<Gauge> in_flight;
  if (!names.in_flight.empty()) {
    in_flight = metrics.gauge(names.in_flight, names.help + " being answered.", labels);
  }
  const auto count = [&metrics, names, labels, label_of = std::move(label_of)](
                         const HttpRequest& request, const HttpReply& reply) {
    MetricLabels all = label_of(request, reply);
    all.insert(labels.begin(), labels.end());
    metrics.counter(names.total, names.help + ".", all).add();
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
