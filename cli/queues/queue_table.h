// cli/queues/queue_table.h - what does `nervexctl queue` say about Queues, the jobs that wait in
// them, and the nodes that are reserved for those? Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/jobs/job_row.h"
#include "cli/text.h"
#include "gang/pod_group.h"
#include "kube/model/json.h"
#include "view/job_view.h"

namespace nervex::cli {

// Parents before their parts, which follow them by name. A queue whose parent is missing is one of
// the root, as in the planner.
std::vector<Json> sort_queues(std::vector<Json> queues);

// QUEUE, PENDING, RUNNING, SHARE, USE, QUOTA, LIMIT, STATE; parts are indented. `queues` as sorted.
Rows queue_rows(const std::vector<Json>& queues);

// The jobs that wait, in the order of their queues, positions and times. Those without a position,
// such as one that is Preempting, come last in their queue.
std::vector<JobRow> find_waiting(std::vector<JobRow> jobs);
// NAMESPACE, NAME, QUEUE, POSITION, PODS, REASON, WAITING.
Rows waiting_rows(const std::vector<JobRow>& jobs, SysTime now);

// A gang that waits, and for which nodes are reserved.
struct ReservingGang {
  std::string ns;
  std::string job;
  std::string gang;
  std::string queue;  // "": the root
  view::NodeReservation reservation{};
};
// Those of one PodGroup.
std::vector<ReservingGang> find_reserving(const gang::PodGroup& group);
void sort_reserving(std::vector<ReservingGang>& gangs);  // by queue, namespace and name
// NAMESPACE, NAME, GANG, QUEUE, KEEPS, STARTS.
Rows reserving_rows(const std::vector<ReservingGang>& gangs, SysTime now);
// namespace, name, gang, queue, and reservation as in the view of the job.
Json to_json(const ReservingGang& gang);

// Of one queue: name, parent, pending, running, share, use, quota and limit as in the object,
// ready, reason and message.
Json queue_json(const Json& queue);

}  // namespace nervex::cli
