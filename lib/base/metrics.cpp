#include "base/metrics.h"

#include <sstream>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace nervex {
namespace {

std::vector<prometheus::ClientMetric::Label> encode_labels(const MetricLabels& labels) {
  std::vector<prometheus::ClientMetric::Label> encoded;
  for (const auto& [name, value] : labels) encoded.push_back({name, value});
  return encoded;
}

prometheus::ClientMetric encode(const MetricSample& sample, MetricType type) {
  prometheus::ClientMetric metric;
  metric.label = encode_labels(sample.labels);
  (type == MetricType::kCounter ? metric.counter.value : metric.gauge.value) = sample.value;
  return metric;
}

// Prometheus' buckets are cumulative; the last one has no bound.
prometheus::ClientMetric encode(const HistogramSample& sample, const MetricLabels& labels) {
  prometheus::ClientMetric metric;
  metric.label = encode_labels(labels);
  auto& histogram = metric.histogram;
  for (std::size_t i = 0; i < sample.counts.size(); ++i) {
    histogram.sample_count += sample.counts[i];
    const double bound =
        i < sample.bounds.size() ? sample.bounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({histogram.sample_count, bound});
  }
  histogram.sample_sum = sample.sum;
  return metric;
}

using Families = std::map<std::string, prometheus::MetricFamily>;

void merge(Families& families, prometheus::MetricFamily family) {
  auto& into = families[family.name];
  const auto more = std::move(family.metric);
  if (into.name.empty()) into = {family.name, family.help, family.type, {}};
  into.metric.insert(into.metric.end(), more.begin(), more.end());
}

}  // namespace

void Counter::add() const { counter_->Increment(); }
void Gauge::set(double value) const { gauge_->Set(value); }
void Gauge::add(double difference) const { gauge_->Increment(difference); }
void Histogram::observe(std::chrono::nanoseconds took) const {
  histogram_->Observe(std::chrono::duration<double>(took).count());
}

struct Metrics::Impl {
  prometheus::Registry registry;
  std::vector<std::function<prometheus::MetricFamily()>> collected;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(const std::string& name, const std::string& help,
                         const MetricLabels& labels) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(impl_->registry);
  return Counter(family.Add(labels));
}

Gauge Metrics::gauge(const std::string& name, const std::string& help, const MetricLabels& labels) {
  auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(impl_->registry);
  return Gauge(family.Add(labels));
}

Histogram Metrics::histogram(const std::string& name, const std::string& help,
                             const std::vector<double>& bounds, const MetricLabels& labels) {
  auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(impl_->registry);
  return Histogram(family.Add(labels, bounds));
}

void Metrics::collect(const std::string& name, const std::string& help, MetricType type,
                      std::function<std::vector<MetricSample>()> read) {
  impl_->collected.push_back([=, read = std::move(read)] {
    const auto encoded = type == MetricType::kCounter ? prometheus::MetricType::Counter
                                                      : prometheus::MetricType::Gauge;
    prometheus::MetricFamily family{name, help, encoded, {}};
    for (const auto& sample : read()) family.metric.push_back(encode(sample, type));
    return family;
  });
}

void Metrics::collect_histogram(const std::string& name, const std::string& help,
                                const MetricLabels& labels, std::function<HistogramSample()> read) {
  impl_->collected.push_back([=, read = std::move(read)] {
    return prometheus::MetricFamily{
        name, help, prometheus::MetricType::Histogram, {encode(read(), labels)}};
  });
}

std::string Metrics::text() const {
  Families families;
  for (auto& family : impl_->registry.Collect()) merge(families, std::move(family));
  for (const auto& read : impl_->collected) merge(families, read());
  std::vector<prometheus::MetricFamily> sorted;
  for (auto& [name, family] : families) {
    if (!family.metric.empty()) sorted.push_back(std::move(family));
  }
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, sorted);
  return out.str();
}

const std::vector<double>& request_bounds() {
  static const std::vector<double> bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                          0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                          1,      2.5,     5,      10};
  return bounds;
}

}  // namespace nervex
