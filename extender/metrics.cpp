#include "extender/metrics.h"

namespace nervex::extender {
namespace {

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
