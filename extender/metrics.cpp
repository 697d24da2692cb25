#include "extender/metrics.h"

namespace nervex::extender {
namespace {

Counter verb_counter(Metrics& metrics, const std::string& verb, const char* result) {
  return metrics.counter(
      "nervex_extender_requests_total",
      "Total number of calls from kube-scheduler that were answered, by verb and result.",
      {{"verb", verb}, {"result", result}});
}

struct GangCounts {
  double waiting = 0;
  double planned = 0;
  double committed = 0;
};

// A gang that the planner has not decided on yet waits, too.
void count_gangs(const gang::PodGroup& group, GangCounts& counts) {
  for (const gang::Gang& wanted : group.spec.gangs) {
    const gang::GangStatus* gang = gang::find_gang(group.status, wanted.name);
    if (gang != nullptr && gang->committed) {
      ++counts.committed;
    } else {
      ++(gang != nullptr && gang->planned ? counts.planned : counts.waiting);
    }
  }
}

}  // namespace

VerbMetrics::VerbMetrics(Metrics& metrics, const std::string& verb)
    : success_(verb_counter(metrics, verb, "success")),
      no_node_(verb_counter(metrics, verb, "refused")),
      error_(verb_counter(metrics, verb, "error")),
      seconds_(metrics.histogram("nervex_extender_request_duration_seconds",
                                 "Time from a call of kube-scheduler to the reply, in seconds; for "
                                 "a bind it includes the time it was held.",
                                 request_bounds(), {{"verb", verb}})) {}

void VerbMetrics::count(VerbResult result, std::chrono::nanoseconds took) const {
  seconds_.observe(took);
  (result == VerbResult::kSuccess  ? success_
   : result == VerbResult::kNoNode ? no_node_
                                   : error_)
      .add();
}

void add_gang_metrics(Metrics& metrics, const kube::Store<gang::PodGroup>& groups) {
  metrics.collect("nervex_gangs", "Number of gangs of all PodGroups, by state.", MetricType::kGauge,
                  [&groups] {
                    GangCounts counts;
                    for (const auto& group : groups.all()) count_gangs(*group, counts);
                    return std::vector<MetricSample>{{{{"state", "waiting"}}, counts.waiting},
                                                     {{{"state", "planned"}}, counts.planned},
                                                     {{{"state", "committed"}}, counts.committed}};
                  });
}

void add_hold_metrics(Metrics& metrics, const Holds& holds) {
  metrics.collect("nervex_extender_held_binds",
                  "Number of bind calls that are held until the rest of their gang has arrived.",
                  MetricType::kGauge, [&holds] {
                    return std::vector<MetricSample>{{{}, static_cast<double>(holds.size())}};
                  });
}

std::function<void(std::chrono::nanoseconds)> cycle_observer(Metrics& metrics) {
  const Histogram seconds =
      metrics.histogram("nervex_scheduling_cycle_duration_seconds",
                        "Duration of a scheduling cycle, in seconds: planning all gangs that may "
                        "have changed, writes included.",
                        request_bounds());
  return [seconds](std::chrono::nanoseconds took) { seconds.observe(took); };
}

}  // namespace nervex::extender
