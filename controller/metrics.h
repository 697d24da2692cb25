// controller/metrics.h - controller-runtime's metrics of rounds, of this controller.
#pragma once

#include <chrono>

#include "base/metrics.h"
#include "controller/worker.h"

namespace nervex::controller {

inline constexpr const char* kControllerName = "nervexjob";

// controller_runtime_reconcile_*, looked up once; thread-safe.
class RoundMetrics {
 public:
  RoundMetrics(Metrics& metrics, int workers);

  // While a round is under way.
  CountedIn begin() const { return CountedIn(active_); }
  void count(Outcome outcome, std::chrono::nanoseconds took) const;

 private:
  const Counter success_;
  const Counter error_;
  const Counter requeue_;
  const Counter requeue_after_;
  const Counter errors_;
  const Histogram seconds_;
  const Gauge active_;
};

}  // namespace nervex::controller
