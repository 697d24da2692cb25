#include "extender/metrics.h"

#include <algorithm>
#include <string>

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

void add_queue_metrics(Metrics& metrics, const QueueWrites& queues, const Clock& clock) {
  metrics.collect("nervex_queue_workloads", "Number of workloads of a queue and its parts.",
                  MetricType::kGauge, [&queues] {
                    std::vector<MetricSample> samples;
                    for (const queue::Report& report : queues.latest()) {
                      samples.push_back({{{"queue", report.queue}, {"state", "pending"}},
                                         static_cast<double>(report.pending)});
                      samples.push_back({{{"queue", report.queue}, {"state", "running"}},
                                         static_cast<double>(report.running)});
                    }
                    return samples;
                  });
  metrics.collect("nervex_queue_use",
                  "What a queue and its parts use: cores of cpu, bytes of memory, devices.",
                  MetricType::kGauge, [&queues] {
                    std::vector<MetricSample> samples;
                    for (const queue::Report& report : queues.latest()) {
                      for (const auto& [resource, amount] : report.use.amounts()) {
                        const double unit = resource == "cpu" ? 1'000 : 1;  // it is in millicores
                        samples.push_back({{{"queue", report.queue}, {"resource", resource}},
                                           static_cast<double>(amount) / unit});
                      }
                    }
                    return samples;
                  });
  metrics.collect("nervex_queue_share_ratio",
                  "The largest part of a resource of the cluster that a queue has borrowed, "
                  "divided by its weight.",
                  MetricType::kGauge, [&queues] {
                    std::vector<MetricSample> samples;
                    for (const queue::Report& report : queues.latest()) {
                      samples.push_back({{{"queue", report.queue}}, report.share.to_double()});
                    }
                    return samples;
                  });
  metrics.collect(
      "nervex_queue_head_duration_seconds",
      "For how long the job that a queue serves next has been the next one, in seconds.",
      MetricType::kGauge, [&queues, &clock] {
        std::vector<MetricSample> samples;
        for (const queue::Report& report : queues.latest()) {
          if (!report.head) continue;
          const std::chrono::duration<double> time = clock.now() - report.head->is_head_since;
          samples.push_back({{{"queue", report.queue}}, std::max(time.count(), 0.0)});
        }
        return samples;
      });
}

std::function<void(const gang::PodGroup&)> start_observer(Metrics& metrics, const Clock& clock) {
  // A job waits for seconds or for days.
  static const std::vector<double> kBounds{1,     5,     15,     60,     300,    900,
                                           3'600, 7'200, 21'600, 43'200, 86'400, 604'800};
  return [&metrics, &clock](const gang::PodGroup& group) {
    const std::string& queue = group.status.queue.name;
    metrics
        .histogram("nervex_queue_wait_duration_seconds",
                   "Time from a job's place in the queue to the nodes of its base gang, in "
                   "seconds. Jobs without a Queue have the label queue=\"root\".",
                   kBounds,
                   {{"queue", queue.empty() ? "root" : queue},
                    {"priority", std::to_string(group.spec.priority)}})
        .observe(std::max(clock.now() - group.spec.queued_since, SysTime::duration::zero()));
  };
}

std::function<void(const gang::PodGroupStatus&, const gang::GangStatus&)> preemption_observer(
    Metrics& metrics) {
  return [&metrics](const gang::PodGroupStatus& status, const gang::GangStatus& gang) {
    for (const gang::Victim& victim : gang.victims) {
      const auto reason = victim.is_for_reservation ? gang::kForReservation
                          : victim.is_reclaimed     ? gang::kReclaim
                                                    : gang::kLowerPriority;
      metrics
          .counter("nervex_preemptions_total",
                   "Jobs, and gangs of requests, that end so that a workload of the queue can "
                   "start: reason Reclaim (they borrow what the queue is guaranteed), "
                   "LowerPriority, or Reservation (they run on nodes that are reserved for it).",
                   {{"queue", status.queue.name}, {"reason", std::string(reason)}})
          .add();
    }
  };
}

std::function<void(const Planner::CycleTimes&)> cycle_observer(Metrics& metrics) {
  const Histogram total =
      metrics.histogram("nervex_scheduling_cycle_duration_seconds",
                        "Duration of a scheduling cycle, in seconds: planning all gangs that may "
                        "have changed, writes included.",
                        request_bounds());
  const Histogram deciding = metrics.histogram(
      "nervex_scheduling_algorithm_duration_seconds",
      "Part of a scheduling cycle that decides on a snapshot of the cluster, in seconds: without "
      "writes.",
      request_bounds());
  return [total, deciding](const Planner::CycleTimes& times) {
    total.observe(times.total);
    deciding.observe(times.deciding);
  };
}

}  // namespace nervex::extender
