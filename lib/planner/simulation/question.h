// planner/simulation/question.h - which gang does a Simulation ask about? Pure.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "gang/objects.h"
#include "gang/pod_group.h"
#include "job/aggregator_config.h"
#include "job/priority.h"
#include "kube/model/objects.h"
#include "planner/simulation/simulation.h"
#include "planner/simulation/what_if.h"

namespace nervex::planner {

// What a job's pods depend on beside the job.
struct JobSettings {
  const job::AggregatorConfig* aggregator_config = nullptr;  // null: there is none
  const job::PriorityClasses& priority_classes;
};

// The gang that the job would start with if it was submitted now, as the controller makes it.
// kInvalid: the spec cannot be read, or names a PriorityClass that does not exist.
Result<Candidate> make_candidate(const Question& question, const JobSettings& settings,
                                 SysTime now);

// These replicas in the job's own PodGroup: part of its base gang while that waits; once it has
// nodes, a request of now, which takes over capacity that the job has reserved. kInvalid: the job
// has no template for them.
Result<Candidate> make_growth(const Growth& growth, const gang::PodGroupPtr& of_job, SysTime now);

}  // namespace nervex::planner
