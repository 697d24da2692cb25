// base/metrics.h - what does a program measure for its administrators? Prometheus.
//
//   const Counter reviews = metrics.counter("reviews_total", "Reviews answered.", {{"code",
//   "200"}}); reviews.add();
//
// prometheus-cpp is hidden behind this file. Handles are looked up once, during wiring; using one
// is an atomic addition (a histogram: a short lock). All is thread-safe except collect(), which
// must be called before text().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace nervex {

using MetricLabels = std::map<std::string, std::string>;

// Handles: values that point into their Metrics, which must outlive them.
class Counter {
 public:
  explicit Counter(prometheus::Counter& counter) : counter_(&counter) {}
  void add() const;

 private:
  prometheus::Counter* counter_;
};

class Gauge {
 public:
  explicit Gauge(prometheus::Gauge& gauge) : gauge_(&gauge) {}
  void set(double value) const;
  void add(double difference) const;

 private:
  prometheus::Gauge* gauge_;
};

class Histogram {
 public:
  explicit Histogram(prometheus::Histogram& histogram) : histogram_(&histogram) {}
  void observe(std::chrono::nanoseconds took) const;  // as seconds, Prometheus' unit of time

 private:
  prometheus::Histogram* histogram_;
};

// Adds one until it goes out of scope.
class CountedIn {
 public:
  explicit CountedIn(Gauge gauge) : gauge_(gauge) { gauge_.add(1); }
  ~CountedIn() { gauge_.add(-1); }
  CountedIn(const CountedIn&) = delete;
  CountedIn& operator=(const CountedIn&) = delete;

 private:
  const Gauge gauge_;
};

enum class MetricType { kCounter, kGauge };

struct MetricSample {
  MetricLabels labels;
  double value = 0;
};

// Counted elsewhere: per bucket, not cumulative; counts has one more than bounds.
struct HistogramSample {
  std::vector<double> bounds;
  std::vector<std::uint64_t> counts;
  double sum = 0;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The same name and labels give the same metric. A name must keep its type and its help.
  Counter counter(const std::string& name, const std::string& help,
                  const MetricLabels& labels = {});
  Gauge gauge(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  // `bounds`: upper bounds of the buckets in seconds, ascending.
  Histogram histogram(const std::string& name, const std::string& help,
                      const std::vector<double>& bounds, const MetricLabels& labels = {});

  // For values read at each scrape: text() calls `read`. Calls with the same name add samples. A
  // metric without samples is not shown.
  void collect(const std::string& name, const std::string& help, MetricType type,
               std::function<std::vector<MetricSample>()> read);
  void collect_histogram(const std::string& name, const std::string& help,
                         const MetricLabels& labels, std::function<HistogramSample()> read);

  // The text format of Prometheus, version 0.0.4; metrics sorted by name.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

// Bounds for requests over loopback or a cluster's network: from 0.1 ms to 10 s.
// controller-runtime's begin at 5 ms, longer than any request of our webhook takes.
const std::vector<double>& request_bounds();

// client_golang's process_* and, with `version`, nervex_build_info.
void add_process_metrics(Metrics& metrics, const std::string& version);

}  // namespace nervex
