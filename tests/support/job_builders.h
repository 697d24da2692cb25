// tests/support/job_builders.h - how do tests build NerveXJobs? Fills in the uninteresting parts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "job/types.h"
#include "kube/model/json.h"

namespace nervex::testing {

// A PodTemplateSpec with one container.
inline Json a_template(std::string container = "nervex-container") {
  return {{"spec",
           {{"containers", Json::array({{{"name", std::move(container)},
                                         {"image", "nervex:test"},
                                         {"resources", {{"requests", {{"cpu", "1"}}}}}}})}}}};
}

inline Json with_gpus(Json pod_template, const std::string& gpus) {
  pod_template["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = gpus;
  return pod_template;
}

// The job rl/dqn with uid "uid-dqn" and only a coordinator.
inline job::Job a_job() {
  job::Job job;
  job.meta.ns = "rl";
  job.meta.name = "dqn";
  job.meta.uid = "uid-dqn";
  job.meta.resource_version = "1";
  job.meta.generation = 1;
  job.spec.coordinator_template = a_template();
  return job;
}

// With templates for collectors and learners, and this many base replicas.
inline job::Job a_job(int collectors, int learners) {
  job::Job job = a_job();
  job.spec.collector = job::RoleSpec{a_template(), collectors, 0, std::nullopt};
  job.spec.learner = job::RoleSpec{with_gpus(a_template(), "1"), learners, 0, std::nullopt};
  return job;
}

inline job::RequestEntry an_entry(std::int64_t id, job::Role role, int count,
                                  int first = job::kFirstRequestedOrdinal) {
  job::RequestEntry entry;
  entry.id = id;
  entry.attempt = 1;
  entry.role = role;
  for (int i = 0; i < count; ++i) entry.slots.push_back({first + i, 0});
  return entry;
}

// Learners at these ordinals that each have as many ddp-learners as the split has items.
inline job::RequestEntry multi_gpu_entry(std::int64_t id, const std::vector<int>& ordinals,
                                         std::vector<int> gpu_split) {
  job::RequestEntry entry = an_entry(id, job::Role::kLearner, 0);
  for (const int ordinal : ordinals) entry.slots.push_back({ordinal, 0});
  entry.gpu_split = std::move(gpu_split);
  return entry;
}

}  // namespace nervex::testing
