// base/http/request_metrics.h - how many requests came, what became of them, how long did they
// take?
#pragma once

#include <functional>
#include <string>

#include "base/http/messages.h"
#include "base/metrics.h"

namespace nervex {

struct RequestMetricNames {
  std::string total;      // counter: `labels` and what label_of() says
  std::string seconds;    // histogram: `labels`
  std::string in_flight;  // gauge: `labels`; "": none
  std::string help;       // of what requests, "Admission reviews"
};

// The same handler, counted. `label_of` names and values the label that a reply decides, such as
// {"code", "200"}; it takes few values. A handler that throws counts as status 500. Cost: a small
// look-up and a clock, far below a microsecond. `metrics` outlives the handler.
HttpHandler counted(Metrics& metrics, const RequestMetricNames& names, const MetricLabels& labels,
                    std::function<MetricLabels(const HttpRequest&, const HttpReply&)> label_of,
                    HttpHandler handler);

// {"code": "<status>"}
MetricLabels code_label(const HttpRequest& request, const HttpReply& reply);

}  // namespace nervex
