// extender/metrics.h - what does the extender count for its administrators?
#pragma once

#include <chrono>
#include <functional>

#include "base/metrics.h"
#include "extender/bind/holds.h"
#include "gang/pod_group.h"
#include "kube/cache/store.h"

namespace nervex::extender {

enum class VerbResult {
  kSuccess,
  kNoNode,  // filter: no node is left for this pod, now or permanently; label "refused"
  kError,   // `Error` is set: kube-scheduler retries
};

// nervex_extender_requests_total{verb,result} and nervex_extender_request_duration_seconds{verb}.
// Thread-safe; looks its metrics up once.
class VerbMetrics {
 public:
  VerbMetrics(Metrics& metrics, const std::string& verb);
  void count(VerbResult result, std::chrono::nanoseconds took) const;

 private:
  const Counter success_;
  const Counter no_node_;
  const Counter error_;
  const Histogram seconds_;
};

// nervex_gangs{state}: read from the PodGroups at each scrape. Borrows `groups` until the last
// Metrics::text().
void add_gang_metrics(Metrics& metrics, const kube::Store<gang::PodGroup>& groups);

// nervex_extender_held_binds: held bind calls at each scrape. Borrows `holds` likewise.
void add_hold_metrics(Metrics& metrics, const Holds& holds);

// For Planner::observe_cycles(): nervex_scheduling_cycle_duration_seconds.
std::function<void(std::chrono::nanoseconds)> cycle_observer(Metrics& metrics);

}  // namespace nervex::extender
