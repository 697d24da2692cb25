// cli/logs/follow_job.h - how does a verb follow a job to its end: why it waits, then its logs?
#pragma once

#include <optional>
#include <string>

#include "cli/interrupt.h"
#include "cli/logs/log_streams.h"
#include "cli/logs/pod_choice.h"
#include "job/types.h"
#include "kube/api.h"

namespace nervex::cli {

struct JobEnd {
  std::optional<job::Job> job;  // as last read; nullopt: it was not found
  bool is_deleted = false;
};

// Until the job has ended or was deleted, or `interrupt`. While it does not run, JobProgress says
// why on stderr. The caller has read or created the job: outages are retried. `choice`: pods with
// logs, including those of later attempts; nullopt: none. An Error: the job cannot be read.
Result<JobEnd> follow_job(kube::Api& api, const std::string& ns, const std::string& job,
                          const std::optional<PodChoice>& choice, const LogOptions& options,
                          const Interrupt& interrupt);

// Lines of logs on stdout: of several pods with a coloured title. Thread-compatible.
class LogPrinter {
 public:
  explicit LogPrinter(bool has_titles);
  void print(const kube::Pod& pod, std::string_view line);
  // "nervexctl: learner/0 (dqn-learner-x2b7k): OOMKilled, exit code 137" on stderr.
  void print_end(const kube::Pod& pod, const Result<std::string>& end);

 private:
  const bool has_titles_;
  const bool has_colours_;
};

}  // namespace nervex::cli
