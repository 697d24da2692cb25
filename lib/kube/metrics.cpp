#include "kube/metrics.h"

#include <utility>

namespace nervex::kube {
namespace {

using Samples = std::vector<MetricSample>;

// client-go's buckets for requests, plus smaller ones: our API servers are near.
const std::vector<double> kRequestBounds{0.001, 0.0025, 0.005, 0.025, 0.1, 0.25, 0.5,
                                         1,     2,      4,     8,     15,  30,   60};

// "https://10.0.0.1:6443/prefix" -> "10.0.0.1:6443"
std::string url_host(const std::string& url) {
  const auto scheme = url.find("://");
  const auto from = scheme == std::string::npos ? 0 : scheme + 3;
  return url.substr(from, url.find('/', from) - from);
}

HistogramSample encode(const DurationHistogram& histogram) {
  const auto& bounds = DurationHistogram::kBoundsSeconds;
  return {{bounds.begin(), bounds.end()},
          {histogram.counts.begin(), histogram.counts.end()},
          histogram.sum_seconds};
}

}  // namespace

RequestObserver request_observer(Metrics& metrics, const std::string& url) {
  // The look-up by labels takes about a microsecond; a request takes hundreds.
  return [&metrics, host = url_host(url)](const RequestSeen& seen) {
    const std::string code = seen.status == 0 ? "<error>" : std::to_string(seen.status);
    const std::string method(seen.method);
    metrics
        .counter("rest_client_requests_total",
                 "Total number of requests to the API server, by status code, method and host.",
                 {{"code", code}, {"host", host}, {"method", method}})
        .add();
    metrics
        .histogram("rest_client_request_duration_seconds",
                   "Duration of a request to the API server, in seconds; of a watch, until its "
                   "response began.",
                   kRequestBounds, {{"verb", method}, {"host", host}})
        .observe(seen.took);
  };
}

void add_queue_metrics(Metrics& metrics, const std::string& name, const WorkQueue& queue) {
  const MetricLabels labels{{"name", name}};
  const auto add = [&](const char* metric, const char* help, MetricType type,
                       double (*value)(const WorkQueueStats&)) {
    metrics.collect(metric, help, type, [&queue, labels, value] {
      return Samples{{labels, value(queue.stats())}};
    });
  };
  add("workqueue_depth", "Number of keys that wait for a worker.", MetricType::kGauge,
      [](const auto& stats) { return static_cast<double>(stats.depth); });
  add("workqueue_adds_total", "Total number of keys that were added to the queue.",
      MetricType::kCounter, [](const auto& stats) { return static_cast<double>(stats.adds); });
  add("workqueue_retries_total", "Total number of keys that were added with a delay.",
      MetricType::kCounter, [](const auto& stats) { return static_cast<double>(stats.retries); });
  add("workqueue_unfinished_work_seconds",
      "How long the work in progress has taken so far, in seconds, summed over the workers.",
      MetricType::kGauge, [](const auto& stats) { return stats.unfinished_seconds; });
  add("workqueue_longest_running_processor_seconds",
      "How long the longest running worker has been working on its key, in seconds.",
      MetricType::kGauge, [](const auto& stats) { return stats.longest_running_seconds; });
  metrics.collect_histogram("workqueue_queue_duration_seconds",
                            "How long a key waited in the queue for a worker, in seconds.", labels,
                            [&queue] { return encode(queue.stats().in_queue); });
  metrics.collect_histogram("workqueue_work_duration_seconds",
                            "How long the work on a key took, in seconds.", labels,
                            [&queue] { return encode(queue.stats().at_work); });
}

void add_leader_metrics(Metrics& metrics, const std::string& name, const Leadership& leadership) {
  metrics.collect("leader_election_master_status",
                  "1 if this process is the leader, as its Lease says, else 0.", MetricType::kGauge,
                  [&leadership, labels = MetricLabels{{"name", name}}] {
                    return Samples{{labels, leadership.may_write() ? 1.0 : 0.0}};
                  });
}

void add_cache_metrics(Metrics& metrics, const std::string& kind,
                       std::function<std::size_t()> size) {
  metrics.collect("nervex_cache_objects", "Number of objects in the cache of a watched kind.",
                  MetricType::kGauge,
                  [size = std::move(size), labels = MetricLabels{{"kind", kind}}] {
                    return Samples{{labels, static_cast<double>(size())}};
                  });
}

void add_synced_metric(Metrics& metrics, std::function<Result<Nothing>()> check_synced) {
  metrics.collect("nervex_caches_synced",
                  "1 if the first lists of all caches are complete, else 0.", MetricType::kGauge,
                  [check_synced = std::move(check_synced)] {
                    return Samples{{MetricLabels{}, check_synced() ? 1.0 : 0.0}};
                  });
}

}  // namespace nervex::kube
