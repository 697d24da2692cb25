// cli/jobs/job_events.h - which events of a namespace are about a job, its PodGroups and its pods?
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "job/types.h"
#include "view/job_snapshot.h"

namespace nervex::cli {

// A v1 Event without what it is about.
view::Event decode_event(const Json& event);

struct JobEvent {
  SysTime time{};      // of the last occurrence
  std::string object;  // "nervexjob/dqn", "pod/dqn-learner-x2b7k"
  bool is_warning = false;
  std::string reason;
  std::string message;
  int count = 1;
  bool operator==(const JobEvent&) const = default;
};

// nullopt: about something else. A pod belongs to the job by its name; events before the job's
// creation are those of an earlier job of the same name.
std::optional<JobEvent> decode_job_event(const job::Job& job, const Json& event);

// LAST SEEN, TYPE, REASON, OBJECT, MESSAGE.
std::vector<std::string> event_header();
std::vector<std::string> event_cells(const JobEvent& event, SysTime now, const Paint& paint);
Json to_json(const JobEvent& event);

}  // namespace nervex::cli
