#include "base/metrics.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "base/http/request_metrics.h"
#include "tests/support/exposition.h"

namespace nervex {
namespace {

using namespace std::chrono_literals;
using testing::exposition_problems;

bool has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

// The value of the sample; -1 if there is none.
double sample_value(const std::string& text, const std::string& series) {
  const auto at = ("\n" + text).find("\n" + series + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 1));
}

TEST_CASE("metrics are shown in Prometheus' text format, sorted by name", "[base][metrics]") {
  Metrics metrics;
  const Gauge gauge = metrics.gauge("b_now", "Things now.");
  metrics.counter("a_total", "Things.", {{"kind", "one"}}).add();
  metrics.counter("a_total", "Things.", {{"kind", "one"}}).add();
  gauge.set(3);
  gauge.add(-1);
  metrics.collect("c_total", "Read when asked for.", MetricType::kCounter, [] {
    return std::vector<MetricSample>{{{{"x", "y"}}, 7}};
  });
  CHECK(metrics.text() ==
        "# HELP a_total Things.\n"
        "# TYPE a_total counter\n"
        "a_total{kind=\"one\"} 2\n"
        "# HELP b_now Things now.\n"
        "# TYPE b_now gauge\n"
        "b_now 2\n"
        "# HELP c_total Read when asked for.\n"
        "# TYPE c_total counter\n"
        "c_total{x=\"y\"} 7\n");
}

TEST_CASE("durations are observed in seconds, in cumulative buckets", "[base][metrics]") {
  Metrics metrics;
  const Histogram seconds = metrics.histogram("a_seconds", "Time.", {0.001, 0.1});
  seconds.observe(500us);
  seconds.observe(50ms);
  seconds.observe(2s);
  const std::string text = metrics.text();
  INFO(text);
  CHECK(has(text, "a_seconds_bucket{le=\"0.001\"} 1"));
  CHECK(has(text, "a_seconds_bucket{le=\"0.1\"} 2"));
  CHECK(has(text, "a_seconds_bucket{le=\"+Inf\"} 3"));
  CHECK(has(text, "a_seconds_count 3"));
  CHECK(exposition_problems(text).empty());
}

TEST_CASE("an externally counted histogram is added up", "[base][metrics]") {
  Metrics metrics;
  metrics.collect_histogram("a_seconds", "Time.", {{"name", "q"}}, [] {
    return HistogramSample{{1, 10}, {2, 0, 1}, 42};
  });
  const std::string text = metrics.text();
  INFO(text);
  CHECK(has(text, "a_seconds_bucket{name=\"q\",le=\"1\"} 2"));
  CHECK(has(text, "a_seconds_bucket{name=\"q\",le=\"10\"} 2"));
  CHECK(has(text, "a_seconds_bucket{name=\"q\",le=\"+Inf\"} 3"));
  CHECK(exposition_problems(text).empty());
}

TEST_CASE("several sources of one name are one family", "[base][metrics]") {
  Metrics metrics;
  for (const std::string kind : {"pods", "nodes"}) {
    metrics.collect("objects", "Objects.", MetricType::kGauge, [kind] {
      return std::vector<MetricSample>{{{{"kind", kind}}, 1}};
    });
  }
  const std::string text = metrics.text();
  CHECK(exposition_problems(text).empty());
  CHECK(has(text, "objects{kind=\"pods\"} 1"));
  CHECK(has(text, "objects{kind=\"nodes\"} 1"));
}

TEST_CASE("label values from the network cannot break the format", "[base][metrics]") {
  Metrics metrics;
  metrics.counter("a_total", "Things.", {{"path", "x\"} 1\nb_total 2\\"}}).add();
  CHECK(exposition_problems(metrics.text()).empty());
}

TEST_CASE("the process is described as Prometheus' own clients do it", "[base][metrics]") {
  Metrics metrics;
  add_process_metrics(metrics, "1.2.3");
  const std::string text = metrics.text();
  INFO(text);
  CHECK(exposition_problems(text).empty());
  CHECK(has(text, "nervex_build_info{version=\"1.2.3\"} 1"));
  CHECK(sample_value(text, "process_cpu_seconds_total") >= 0);
  CHECK(sample_value(text, "process_resident_memory_bytes") > 1e6);
  CHECK(sample_value(text, "process_virtual_memory_bytes") >
        sample_value(text, "process_resident_memory_bytes"));
  CHECK(sample_value(text, "process_open_fds") >= 3);
  CHECK(sample_value(text, "process_max_fds") >= sample_value(text, "process_open_fds"));
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch());
  CHECK(sample_value(text, "process_start_time_seconds") > 1.6e9);
  CHECK(sample_value(text, "process_start_time_seconds") < now.count() + 60);
}

TEST_CASE("requests are counted by status code", "[base][metrics]") {
  Metrics metrics;
  const RequestMetricNames names{"r_total", "r_seconds", "r_in_flight", "Requests"};
  std::string during;
  const auto handler =
      counted(metrics, names, {{"hook", "m"}}, [&](const HttpRequest& request) -> HttpReply {
        during = metrics.text();
        if (request.method == "THROW") throw std::runtime_error("no");
        return {request.method == "GET" ? 200 : 405, ""};
      });
  HttpRequest request;
  for (const char* method : {"GET", "GET", "PUT"}) {
    request.method = method;
    handler(request);
  }
  request.method = "THROW";
  CHECK_THROWS(handler(request));
  CHECK(has(during, "r_in_flight{hook=\"m\"} 1"));
  const std::string text = metrics.text();
  INFO(text);
  CHECK(has(text, "r_in_flight{hook=\"m\"} 0"));
  CHECK(has(text, "r_total{code=\"200\",hook=\"m\"} 2"));
  CHECK(has(text, "r_total{code=\"405\",hook=\"m\"} 1"));
  CHECK(has(text, "r_total{code=\"500\",hook=\"m\"} 1"));
  CHECK(has(text, "r_seconds_count{hook=\"m\"} 4"));
}

TEST_CASE("requests are counted by verbs that are known, and others together", "[base][metrics]") {
  Metrics metrics;
  const RequestMetricNames names{"r_total", "r_seconds", "", "Requests", {"GET", "POST"}};
  const auto handler = counted(metrics, names, {}, [](const HttpRequest&) -> HttpReply {
    return {200, ""};
  });
  HttpRequest request;
  for (const char* method : {"GET", "PATCH", "POST", "x\ny", "GET"}) {
    request.method = method;
    handler(request);
  }
  const std::string text = metrics.text();
  INFO(text);
  CHECK(has(text, "r_total{code=\"200\",verb=\"GET\"} 2"));
  CHECK(has(text, "r_total{code=\"200\",verb=\"POST\"} 1"));
  CHECK(has(text, "r_total{code=\"200\",verb=\"other\"} 2"));
}

TEST_CASE("the format check finds errors", "[support][metrics]") {
  struct Row {
    std::string when;
    std::string text;
  };
  const auto row = GENERATE(values<Row>({
      {"there is no HELP", "# TYPE a gauge\na 1\n"},
      {"there is no TYPE", "# HELP a x\na 1\n"},
      {"a counter is called like a gauge", "# HELP a x\n# TYPE a counter\na 1\n"},
      {"a sample comes twice", "# HELP a x\n# TYPE a gauge\na 1\na 2\n"},
      {"a family comes twice",
       "# HELP a x\n# TYPE a gauge\na 1\n# HELP b x\n# TYPE b gauge\nb 1\n"
       "# HELP a x\n# TYPE a gauge\na{l=\"m\"} 1\n"},
      {"a value is none", "# HELP a x\n# TYPE a gauge\na one\n"},
      {"a label is not quoted", "# HELP a x\n# TYPE a gauge\na{l=m} 1\n"},
      {"a sample is of no family", "# HELP a x\n# TYPE a gauge\nb 1\n"},
      {"+Inf is missing",
       "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n"},
      {"buckets fall",
       "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\n"
       "a_count 1\n"},
      {"the last line has no end", "# HELP a x\n# TYPE a gauge\na 1"},
  }));
  INFO("when " << row.when);
  CHECK_FALSE(exposition_problems(row.text).empty());
}

}  // namespace
}  // namespace nervex
