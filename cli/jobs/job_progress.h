// cli/jobs/job_progress.h - where does a job stand, for a user who waits for it?
#pragma once

#include <string>
#include <utility>

#include "base/clock.h"
#include "job/types.h"
#include "kube/api.h"

namespace nervex::cli {

// Writes a line to stderr whenever the job's state, or why it waits, has changed.
class JobProgress {
 public:
  JobProgress(kube::Api& api, std::string ns, std::string job)
      : api_(api), ns_(std::move(ns)), job_(std::move(job)) {}

  // For each change of the job. Reads its PodGroup and pods if the change matters to the line, else
  // at most every few seconds: a large job changes often. Says nothing if the API server is away.
  void report(const job::Job& job);
  // The last line; "" if nothing is known.
  const std::string& last_line() const { return last_; }

 private:
  kube::Api& api_;
  const std::string ns_;
  const std::string job_;
  std::string last_;
  std::string reported_;  // what of the job matters to the line
  MonoTime read_at_{};
};

}  // namespace nervex::cli
