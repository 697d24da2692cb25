// cli/jobs/job_row.h - what does one line of `nervexctl list` say about a job? Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "cli/text.h"
#include "job/types.h"

namespace nervex::cli {

struct JobRow {
  std::string ns;
  std::string name;
  std::string phase;   // "" while no controller has seen the job
  std::string reason;  // of the phase
  bool is_deleting = false;
  int ready = 0;
  int wanted = 0;  // pods
  int collectors = 0;
  int learners = 0;  // active pods
  int attempt = 0;
  SysTime created{};
  std::optional<SysTime> queued;   // since when it waits for capacity
  std::optional<SysTime> started;  // first time that the coordinator ran
  std::optional<SysTime> completed;
  std::string queue;       // "": the root
  int queue_position = 0;  // as in the status, in coarse steps; 0: it does not wait
  bool operator==(const JobRow&) const = default;
};

JobRow make_job_row(const job::Job& job);

enum class JobSort { kName, kAge, kPhase, kReady };  // age: the newest first
void sort_rows(std::vector<JobRow>& rows, JobSort by);

struct JobColumns {
  bool has_namespace = false;
  bool is_wide = false;
};
std::vector<std::string> job_header(const JobColumns& columns);
std::vector<std::string> job_cells(const JobRow& row, const JobColumns& columns, SysTime now,
                                   const Paint& paint);

// Absent times have no field.
Json to_json(const JobRow& row);

}  // namespace nervex::cli
