// cli/replicas/base_replicas.h - how are a job's base replicas changed? Pure.
#pragma once

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::cli {

// Replicas to add to the job's base replicas (spec.collector.replicas, spec.learner.replicas);
// negative: to remove.
struct BaseChange {
  int collectors = 0;
  int learners = 0;
};

// The merge patch for it, which requires the version of `job`. kInvalid: the job has no template
// for the role, or fewer replicas than are to be removed.
Result<Json> patch_base_replicas(const Json& job, const BaseChange& change);

}  // namespace nervex::cli
