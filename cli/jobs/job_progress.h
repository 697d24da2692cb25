// cli/jobs/job_progress.h - where does a job stand, for a user who waits for it?
#pragma once

#include <string>

#include "kube/api.h"

namespace nervex::cli {

// Writes a line to stderr whenever the job's state, or why it waits, has changed.
class JobProgress {
 public:
  JobProgress(kube::Api& api, std::string ns, std::string job)
      : api_(api), ns_(std::move(ns)), job_(std::move(job)) {}

  // Reads the job, its PodGroup and its pods again. Says nothing if the API server is away.
  void report();
  // The same line, whether it changed or not; "" if nothing is known.
  const std::string& last_line() const { return last_; }

 private:
  kube::Api& api_;
  const std::string ns_;
  const std::string job_;
  std::string last_;
};

}  // namespace nervex::cli
