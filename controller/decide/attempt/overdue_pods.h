// controller/decide/attempt/overdue_pods.h - which deleted pods should have ended and still exist,
// and what keeps them? Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "controller/decide/round/round.h"

namespace nervex::controller {

// Kubelets need some time beyond the grace period. One that needs more does not respond.
inline constexpr std::chrono::seconds kOverdue{30};

bool is_terminating(const kube::Pod& pod);
// A terminating pod whose grace period ended longer than kOverdue ago.
bool is_overdue(const kube::Pod& pod, SysTime now);

// Describes what keeps an overdue pod, its finalizers by name or its node, and what to do about it.
std::string describe_keeper(const kube::Pod& pod);

// About the first overdue pod of the attempt, by name, that keeps the slot or the name of its
// successor: which pod, on which node, since when, and what keeps it. "" if there is none.
std::string describe_overdue_pod(const Round& round);
// The same, only for pods that make that gang incomplete: the job's own aggregator does not.
std::string describe_overdue_pod(const Round& round, std::string_view gang);
// Until the next terminating pod of the attempt is overdue.
std::optional<std::chrono::milliseconds> time_until_overdue(const Round& round);

}  // namespace nervex::controller
