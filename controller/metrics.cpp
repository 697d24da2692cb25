#include "controller/metrics.h"

namespace nervex::controller {
namespace {

MetricLabels controller_label() { return {{"controller", kControllerName}}; }

Counter round_counter(Metrics& metrics, const char* result) {
  MetricLabels labels = controller_label();
  labels.emplace("result", result);
  return metrics.counter("controller_runtime_reconcile_total",
                         "Rounds of work on a job, by how they ended.", labels);
}

}  // namespace

RoundMetrics::RoundMetrics(Metrics& metrics, int workers)
    : success_(round_counter(metrics, "success")),
      error_(round_counter(metrics, "error")),
      requeue_(round_counter(metrics, "requeue")),
      requeue_after_(round_counter(metrics, "requeue_after")),
      errors_(metrics.counter("controller_runtime_reconcile_errors_total",
                              "Rounds of work on a job that failed.", controller_label())),
      seconds_(metrics.histogram("controller_runtime_reconcile_time_seconds",
                                 "Time of one round of work on a job.", request_bounds(),
                                 controller_label())),
      active_(metrics.gauge("controller_runtime_active_workers", "Workers at work on a job.",
                            controller_label())) {
  metrics
      .gauge("controller_runtime_max_concurrent_reconciles", "Jobs that are worked on at once.",
             controller_label())
      .set(workers);
}

void RoundMetrics::count(Outcome outcome, std::chrono::nanoseconds took) const {
  seconds_.observe(took);
  switch (outcome) {
    case Outcome::kSuccess:
      return success_.add();
    case Outcome::kRequeue:
      return requeue_.add();
    case Outcome::kRequeueAfter:
      return requeue_after_.add();
    case Outcome::kError:
      error_.add();
      errors_.add();
  }
}

}  // namespace nervex::controller
