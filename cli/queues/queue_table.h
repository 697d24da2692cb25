// cli/queues/queue_table.h - what does `nervexctl queue` say about Queues and the jobs that wait in
// them? Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/jobs/job_row.h"
#include "cli/text.h"
#include "kube/model/json.h"

namespace nervex::cli {

// Parents before their parts, which follow them by name. A queue whose parent is missing is one of
// the root, as in the planner.
std::vector<Json> sort_queues(std::vector<Json> queues);

// QUEUE, PENDING, RUNNING, SHARE, USE, QUOTA, LIMIT, STATE; parts are indented. `queues` as sorted.
Rows queue_rows(const std::vector<Json>& queues);

// The jobs that wait, in the order of their queues, positions and times.
std::vector<JobRow> find_waiting(std::vector<JobRow> jobs);
// NAMESPACE, NAME, QUEUE, POSITION, PODS, REASON, WAITING.
Rows waiting_rows(const std::vector<JobRow>& jobs, SysTime now);

// Of one queue: name, parent, pending, running, share, use, quota and limit as in the object,
// ready, reason and message.
Json queue_json(const Json& queue);

}  // namespace nervex::cli
