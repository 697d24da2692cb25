// extender/simulation/question.h - what does a Simulation ask the scheduling cycle? Pure.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "extender/simulation/simulation.h"
#include "extender/simulation/what_if.h"
#include "gang/pod_group.h"
#include "job/aggregator_config.h"
#include "job/priority.h"

namespace nervex::extender {

// What its job's pods depend on beside the job.
struct Surroundings {
  const job::AggregatorConfig* aggregator_config = nullptr;  // null: there is none
  const job::PriorityClasses& priority_classes;
};

// The PodGroup that the controller would create for the job, as if it was submitted now.
// kInvalid: the spec cannot be read, or names a PriorityClass that does not exist.
Result<gang::PodGroup> make_group(const Simulation& simulation, const Surroundings& around,
                                  SysTime now);

// A PodGroup of these replicas alone, with the priority and the queue of the job's own. Replicas
// that use capacity which the job has reserved are left out: without any left, the gang is empty.
// kInvalid: the job has no template for them.
Result<gang::PodGroup> make_growth(const Growth& growth, const gang::PodGroup& of_job);

}  // namespace nervex::extender
