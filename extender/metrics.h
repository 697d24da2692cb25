// extender/metrics.h - what does the extender count for its administrators?
#pragma once

#include <chrono>
#include <functional>

#include "base/metrics.h"
#include "extender/bind/holds.h"
#include "gang/pod_group.h"
#include "kube/cache/store.h"

namespace nervex::extender {

// nervex_gangs{state}: read from the PodGroups at each scrape. Borrows `groups` until the last
// Metrics::text().
void add_gang_metrics(Metrics& metrics, const kube::Store<gang::PodGroup>& groups);

// nervex_extender_held_binds: held bind calls at each scrape. Borrows `holds` likewise.
void add_hold_metrics(Metrics& metrics, const Holds& holds);

// For Planner::observe_cycles(): nervex_scheduling_cycle_duration_seconds.
std::function<void(std::chrono::nanoseconds)> cycle_observer(Metrics& metrics);

}  // namespace nervex::extender
