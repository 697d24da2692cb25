// extender/metrics.h - what does the extender count for its administrators?
#pragma once

#include <chrono>
#include <functional>

#include "base/clock.h"
#include "base/metrics.h"
#include "extender/act/planner.h"
#include "extender/act/queue_writes.h"
#include "extender/bind/holds.h"
#include "gang/pod_group.h"
#include "kube/cache/store.h"

namespace nervex::extender {

// nervex_gangs{state}: read from the PodGroups at each scrape. Borrows `groups` until the last
// Metrics::text().
void add_gang_metrics(Metrics& metrics, const kube::Store<gang::PodGroup>& groups);

// nervex_extender_held_binds: held bind calls at each scrape. Borrows `holds` likewise.
void add_hold_metrics(Metrics& metrics, const Holds& holds);

// nervex_queue_workloads{queue,state}, nervex_queue_use{queue,resource},
// nervex_queue_share_ratio{queue} and nervex_queue_head_duration_seconds{queue}, from the last
// reports. Borrows `queues` and `clock` likewise.
void add_queue_metrics(Metrics& metrics, const QueueWrites& queues, const Clock& clock);

// For Planner::observe_starts(): nervex_queue_wait_duration_seconds{queue,priority}.
std::function<void(const gang::PodGroup&)> start_observer(Metrics& metrics, const Clock& clock);

// For Planner::observe_preemptions(): nervex_preemptions_total{queue,reason}.
std::function<void(const gang::PodGroupStatus&, const gang::GangStatus&)> preemption_observer(
    Metrics& metrics);

// For Planner::observe_cycles(): nervex_scheduling_cycle_duration_seconds and
// nervex_scheduling_algorithm_duration_seconds.
std::function<void(const Planner::CycleTimes&)> cycle_observer(Metrics& metrics);

}  // namespace nervex::extender
