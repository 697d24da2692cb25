#include "cli/jobs/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text.h"

namespace nervex::cli {
namespace {

using view::JobView;
using view::PodsByRole;
using view::Wait;

// "Created (Unschedulable) since 2026-11-21T14:03:12Z, 2m5s ago"
std::string phase_line(const JobView& job) {
  if (job.phase == job::Phase::kNone) return "none yet, created " + moment(job.created, job.now);
  std::string line(to_string(job.phase));
  if (!job.reason.empty()) line += fmt::format(" ({})", printable(job.reason));
  if (job.since) line += " since " + moment(*job.since, job.now);
  return line;
}

// "2 collectors"
std::string count_text(const PodsByRole::value_type& pods) {
  return fmt::format("{} {}{}", pods.second, printable(pods.first), pods.second == 1 ? "" : "s");
}

// "4 learners", "1 collector, 2 ddp-learners and 4 learners"
std::string sum_text(const PodsByRole& pods) {
  std::string text;
  std::size_t left = pods.size();
  for (const auto& one : pods) {
    const std::string_view before = text.empty() ? "" : left == 1 ? " and " : ", ";
    text += fmt::format("{}{}", before, count_text(one));
    --left;
  }
  return text;
}

// "the whole gang", or "request-1 (1 aggregator, 2 ddp-learners)"
std::string gang_title(const Wait& wait) {
  if (wait.gang == gang::kBaseGang) return "the whole gang";
  std::string counts;
  for (const auto& one : wait.pods) counts += (counts.empty() ? "" : ", ") + count_text(one);
  return counts.empty() ? printable(wait.gang)
                        : fmt::format("{} ({})", printable(wait.gang), counts);
}

std::string wait_title(const Wait& wait) {
  switch (wait.subject) {
    case Wait::Subject::kGang:
      return gang_title(wait);
    case Wait::Subject::kLostPods:
      return "lost pods of " + gang_title(wait);
    case Wait::Subject::kPods:
      return "pods of " + gang_title(wait);
    case Wait::Subject::kRequests:
      return "requested replicas";
  }
  return "";
}

// "2026-11-21T14:13:12Z, in 8m: then the job fails (scheduleTimeoutSeconds)"
std::string until_line(const JobView& job) {
  if (!job.fails_at) return "";
  return fmt::format("{}, in {}: then the job fails (scheduleTimeoutSeconds)",
                     to_rfc3339(*job.fails_at), duration_since(job.now, *job.fails_at));
}

// "node gpu-0 for learner until 2026-11-21T14:13:12Z, in 8m, and 2 more before then"
std::string avoided_line(const JobView& job) {
  const auto last =
      std::max_element(job.avoided.begin(), job.avoided.end(),
                       [](const auto& a, const auto& b) { return a.until < b.until; });
  if (last == job.avoided.end()) return "";
  const std::size_t count = job.avoided.size();
  return fmt::format("node {} for {} until {}, in {}{}", printable(last->node),
                     printable(last->set), to_rfc3339(last->until),
                     duration_since(job.now, last->until),
                     count == 1 ? "" : fmt::format(", and {} more before then", count - 1));
}

// "capacity for 4 learners, until 2026-11-21T14:13:12Z, in 8m"
std::string reserved_line(const JobView& job) {
  if (!job.reservation) return "";
  const view::Reservation& reservation = *job.reservation;
  const std::string pods = sum_text(reservation.pods);
  if (!reservation.until) {
    return fmt::format("capacity for {}, until {} s after the coordinator starts", pods,
                       reservation.seconds_after_start);
  }
  return fmt::format("capacity for {}, until {}, in {}", pods, to_rfc3339(*reservation.until),
                     duration_since(job.now, *reservation.until));
}

// "gpu-0, gpu-1 and 3 more, since 2026-11-21T14:03:12Z, 2m5s ago"
std::string reserved_nodes_line(const view::NodeReservation& reservation, SysTime now) {
  constexpr std::size_t kShown = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(kShown, reservation.nodes.size()); ++i) {
    names += (names.empty() ? "" : ", ") + printable(reservation.nodes[i]);
  }
  const std::size_t count = reservation.nodes.size();
  if (count > kShown) names += fmt::format(" and {} more", count - kShown);
  return fmt::format("{}, since {}", names, moment(reservation.since, now));
}

// "2026-11-21T16:03:12Z, in 2h, at the latest: then the jobs there have reached their limits"
std::string latest_start_line(const view::NodeReservation& reservation, SysTime now) {
  const bool is_known = reservation.due && *reservation.due > now;
  return latest_start(reservation, now) +
         (is_known ? ": then the jobs there have reached their limits" : "");
}

// "dqn-2 until 2026-11-21T15:00:00Z, other without time limit"
std::string node_users_line(const view::NodeReservation& reservation) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, reservation.users.size()); ++i) {
    const auto& [job, until] = reservation.users[i];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(job),
                        until ? "until " + to_rfc3339(*until) : "without time limit");
  }
  const std::size_t count = reservation.users.size();
  return count > kShown ? fmt::format("{} and {} more", text, count - kShown) : text;
}

void add_reservation(const view::NodeReservation& reservation, SysTime now, Rows& rows) {
  rows.push_back({"Keeps", reserved_nodes_line(reservation, now)});
  rows.push_back({"Starts", latest_start_line(reservation, now)});
  if (!reservation.users.empty()) rows.push_back({"Holders", node_users_line(reservation)});
}

// "vision, position 10+"
std::string queue_line(const JobView& job) {
  std::string line = printable(job.queue.name);
  if (job.queue.position == 0) return line;
  return line + (line.empty() ? "position " : ", position ") + coarse_position(job.queue.position);
}

Rows summary(const JobView& job) {
  Rows rows = {{"Phase", phase_line(job)}};
  if (const std::string line = queue_line(job); !line.empty()) rows.push_back({"Queue", line});
  for (const Wait& wait : job.waits) {
    rows.push_back(
        {"Waits", fmt::format("{}, since {}", wait_title(wait), moment(wait.since, job.now))});
    rows.push_back({"Because", printable(wait.message)});
    if (wait.reservation) add_reservation(*wait.reservation, job.now, rows);
  }
  for (const auto& [title, text] :
       {std::pair{"Until", until_line(job)}, std::pair{"Avoided", avoided_line(job)},
        std::pair{"Reserved", reserved_line(job)}}) {
    if (!text.empty()) rows.push_back({title, text});
  }
  for (const auto& note : job.notes) {
    const std::string_view before = note.code == "Requeued" ? "requeued: " : "";
    rows.push_back({"Note", fmt::format("{}{}", before, printable(note.message))});
  }
  return rows;
}

Rows role_rows(const JobView& job) {
  if (job.roles.empty()) return {};
  Rows rows = {{"ROLE", "WANTED", "PLACED", "RUNNING", "SUCCEEDED", "FAILED"}};
  for (const auto& role : job.roles) {
    rows.push_back({std::string(to_string(role.role)), std::to_string(role.wanted),
                    std::to_string(role.placed), std::to_string(role.counts.active),
                    std::to_string(role.counts.succeeded), std::to_string(role.counts.failed)});
  }
  return rows;
}

Rows node_rows(const JobView& job) {
  Rows rows;
  for (const auto& node : job.nodes) {
    std::string pods = printable(fmt::format("{}", fmt::join(node.slots, ", ")));
    if (!node.reserved.empty()) {
      pods += fmt::format("{}{} reserved", pods.empty() ? "" : ", ", sum_text(node.reserved));
    }
    rows.push_back({printable(node.name), pods});
  }
  return rows;
}

// The first problems, and the number of others.
Rows problem_rows(const JobView& job) {
  constexpr std::size_t kShown = 8;
  Rows rows;
  for (const auto& problem : job.problems) {
    if (rows.size() == kShown) break;
    rows.push_back({printable(problem.pod), printable(describe(problem))});
  }
  if (job.problems.size() > kShown) {
    rows.push_back({fmt::format("and {} more", job.problems.size() - kShown)});
  }
  return rows;
}

Rows last_events(const JobView& job) {
  constexpr std::size_t kShown = 8;
  Rows rows;
  const auto& events = job.events;
  const std::size_t first = events.size() > kShown ? events.size() - kShown : 0;
  for (std::size_t i = first; i < events.size(); ++i) {
    const view::Event& event = events[i];
    const std::string times = event.count > 1 ? fmt::format(" (x{})", event.count) : "";
    rows.push_back({duration_since(event.time, job.now) + " ago",
                    event.is_warning ? "Warning" : "Normal", printable(event.reason),
                    printable(event.message) + times});
  }
  return rows;
}

constexpr std::string_view kIndent = "  ";

std::string section(std::string_view title, const Rows& rows) {
  if (rows.empty()) return "";
  return fmt::format("\n{}\n{}", title, table(rows, kIndent));
}

}  // namespace

std::string explain(const JobView& job) {
  std::string text =
      fmt::format("NerveXJob {}/{}\n{}", job.ns, job.name, table(summary(job), kIndent));
  text += section("Roles", role_rows(job));
  text += section("Planned nodes", node_rows(job));
  text += section("Problems", problem_rows(job));
  text += section("Last events", last_events(job));
  return text + "\nWhat to do: " + describe(job.advice, job.ns, job.name) + "\n";
}

std::string latest_start(const view::NodeReservation& reservation, SysTime now) {
  if (!reservation.due) return "not known: a job on these nodes has no time limit";
  if (*reservation.due <= now) return "when the jobs there have ended: their time is over";
  return fmt::format("{}, in {}, at the latest", to_rfc3339(*reservation.due),
                     duration_since(now, *reservation.due));
}

std::string state_line(const JobView& job) {
  if (job.advice.code == view::AdviceCode::kBeingDeleted) return "is being deleted";
  if (job.advice.code == view::AdviceCode::kSuspended) return "is suspended";
  if (job.phase == job::Phase::kSucceeded) return "succeeded";
  if (job.phase == job::Phase::kFailed) {
    return job.reason.empty() ? "failed" : fmt::format("failed ({})", printable(job.reason));
  }
  if (!job.waits.empty()) {
    const Wait& wait = job.waits.front();
    return fmt::format("waits: {}: {}", wait_title(wait), printable(wait.message));
  }
  std::string state = job.phase == job::Phase::kRunning ? "runs" : "starts";
  if (job.problems.empty()) return state;
  const view::PodProblem& problem = job.problems.front();
  return fmt::format("{}; pod {}: {}", state, printable(problem.pod), printable(describe(problem)));
}

}  // namespace nervex::cli
