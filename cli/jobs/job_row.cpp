#include "cli/jobs/job_row.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace nervex::cli {
namespace {

std::string shown_phase(const JobRow& row, const Paint& paint) {
  if (row.phase.empty()) return "-";
  if (row.phase == job::to_string(job::Phase::kFailed)) return paint(Colour::kRed, row.phase);
  if (row.phase == job::to_string(job::Phase::kRunning)) return paint(Colour::kGreen, row.phase);
  if (row.phase == job::to_string(job::Phase::kCreated)) return paint(Colour::kYellow, row.phase);
  return printable(row.phase);
}

std::string age(const std::optional<SysTime>& since, SysTime until) {
  return since ? duration_since(*since, until) : "-";
}

}  // namespace

JobRow make_job_row(const job::Job& job) {
  const job::Status& status = job.status;
  JobRow row;
  row.ns = job.meta.ns.str();
  row.name = job.meta.name;
  row.phase = to_string(status.phase);
  row.reason = status.reason;
  row.is_deleting = job.meta.deleting;
  row.ready = status.ready;
  row.wanted = status.desired;
  row.collectors = status.collector.active;
  row.learners = status.learner.active;
  row.attempt = status.attempt;
  row.queue = status.queue.name;
  row.queue_position = status.queue.position;
  row.created = job.meta.created;
  const bool waits = !job::is_final(status.phase) && !status.active_since && !job.spec.suspend;
  if (waits) row.queued = status.waiting_since;
  row.started = status.start_time;
  row.completed = status.completion_time;
  return row;
}

void sort_rows(std::vector<JobRow>& rows, JobSort by) {
  const auto by_name = [](const JobRow& a, const JobRow& b) {
    return std::tie(a.ns, a.name) < std::tie(b.ns, b.name);
  };
  std::sort(rows.begin(), rows.end(), by_name);
  switch (by) {
    case JobSort::kName:
      return;
    case JobSort::kAge:
      std::stable_sort(rows.begin(), rows.end(),
                       [](const JobRow& a, const JobRow& b) { return a.created > b.created; });
      return;
    case JobSort::kPhase:
      std::stable_sort(rows.begin(), rows.end(), [](const JobRow& a, const JobRow& b) {
        return std::tie(a.phase, a.reason) < std::tie(b.phase, b.reason);
      });
      return;
    case JobSort::kReady:
      std::stable_sort(rows.begin(), rows.end(),
                       [](const JobRow& a, const JobRow& b) { return a.ready > b.ready; });
      return;
  }
}

std::vector<std::string> job_header(const JobColumns& columns) {
  std::vector<std::string> header;
  if (columns.has_namespace) header.emplace_back("NAMESPACE");
  for (const char* title : {"NAME", "PHASE", "QUEUE", "POSITION", "READY", "REASON", "AGE"}) {
    header.emplace_back(title);
  }
  if (!columns.is_wide) return header;
  for (const char* title : {"QUEUED", "DURATION", "ATTEMPT", "COLLECTORS", "LEARNERS"}) {
    header.emplace_back(title);
  }
  return header;
}

std::vector<std::string> job_cells(const JobRow& row, const JobColumns& columns, SysTime now,
                                   const Paint& paint) {
  std::vector<std::string> cells;
  if (columns.has_namespace) cells.push_back(printable(row.ns));
  const std::string reason = row.is_deleting ? "BeingDeleted" : row.reason;
  cells.insert(
      cells.end(),
      {printable(row.name), shown_phase(row, paint), row.queue.empty() ? "-" : printable(row.queue),
       coarse_position(row.queue_position), fmt::format("{}/{}", row.ready, row.wanted),
       reason.empty() ? "-" : printable(reason), duration_since(row.created, now)});
  if (!columns.is_wide) return cells;
  cells.insert(cells.end(), {age(row.queued, now), age(row.started, row.completed.value_or(now)),
                             std::to_string(row.attempt), std::to_string(row.collectors),
                             std::to_string(row.learners)});
  return cells;
}

Json to_json(const JobRow& row) {
  Json json = {{"namespace", row.ns},          {"name", row.name},
               {"phase", row.phase},           {"reason", row.reason},
               {"ready", row.ready},           {"wanted", row.wanted},
               {"collectors", row.collectors}, {"learners", row.learners},
               {"attempt", row.attempt},       {"created", to_rfc3339(row.created)}};
  if (row.is_deleting) json["deleting"] = true;
  if (!row.queue.empty()) json["queue"] = row.queue;
  if (row.queue_position > 0) json["queuePosition"] = row.queue_position;
  for (const auto& [field, time] :
       {std::pair{"queued", row.queued}, std::pair{"started", row.started},
        std::pair{"completed", row.completed}}) {
    if (time) json[field] = to_rfc3339(*time);
  }
  return json;
}

}  // namespace nervex::cli
