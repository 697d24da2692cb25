// base/http/request_metrics.h - how many requests came, with which results and durations?
#pragma once

#include <string>
#include <vector>

#include "base/http/messages.h"
#include "base/metrics.h"

namespace nervex {

struct RequestMetricNames {
  std::string total;      // counter: `labels`, "code" (the status) and maybe "verb"
  std::string seconds;    // histogram: `labels`
  std::string in_flight;  // gauge: `labels`; "": none
  std::string help;       // the kind of requests, "Admission reviews"
  // Methods counted by name. All others count as "other", because they come from the network.
  // Empty: no label "verb".
  std::vector<std::string> verbs{};
};

// The same handler, counted. A handler that throws counts as status 500. Cost: a small look-up and
// a clock read, far below a microsecond. `metrics` outlives the handler.
HttpHandler counted(Metrics& metrics, const RequestMetricNames& names, const MetricLabels& labels,
                    HttpHandler handler);

}  // namespace nervex
