#include "cli/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "cli/text.h"

namespace nervex::cli {
namespace {

using job::Phase;
using job::Role;

// Gangs of the group without a plan, or that have lost pods. Empty without a group.
std::vector<const gang::GangStatus*> waiting_gangs(const JobView& view) {
  std::vector<const gang::GangStatus*> waiting;
  if (!view.group) return waiting;
  for (const auto& gang : view.group->status.gangs) {
    if (!gang.planned || gang.healing_since) waiting.push_back(&gang);
  }
  return waiting;
}

// The job's condition of that type if it has that status, else nullptr.
const job::Condition* condition(const JobView& view, std::string_view type, bool status) {
  const job::Condition* found = job::find_condition(view.job.status, type);
  return found != nullptr && found->status == status ? found : nullptr;
}

// "Created (Unschedulable) since 2026-11-21T14:03:12Z, 2m5s ago"
std::string phase_line(const JobView& view) {
  const auto& status = view.job.status;
  if (status.phase == Phase::kNone) {
    return "none yet; created " + moment(view.job.meta.created, view.now);
  }
  std::string line(to_string(status.phase));
  if (!status.reason.empty()) line += fmt::format(" ({})", printable(status.reason));
  const job::Condition* reached = condition(view, to_string(status.phase), true);
  if (reached != nullptr) line += " since " + moment(reached->last_transition, view.now);
  return line;
}

// "the whole gang", or "request-1 (2 collectors)"
std::string gang_title(const JobView& view, const gang::GangStatus& gang) {
  if (gang.name == gang::kBaseGang) return "the whole gang";
  for (const auto& set : view.group->spec.members) {
    if (set.gang != gang.name) continue;
    const auto count = set.slots.size();
    return fmt::format("{} ({} {}{})", gang.name, count, set.role, count == 1 ? "" : "s");
  }
  return gang.name;
}

std::string plural(int count, std::string_view role) {
  return fmt::format("{} {}{}", count, role, count == 1 ? "" : "s");
}

// Pods that capacity is reserved for, by role; and by node if it is named.
std::map<std::string, int> reserved_by_role(const gang::PodGroup& group,
                                            std::string_view node = "") {
  std::map<std::string, int> counts;
  for (const auto& gang : group.status.gangs) {
    for (const auto& entry : gang.reserved) {
      if (!node.empty() && entry.node != node) continue;
      const auto& sets = group.spec.members;
      const auto set = std::find_if(sets.begin(), sets.end(),
                                    [&](const auto& one) { return one.name == entry.set; });
      if (set != sets.end()) counts[set->role] += entry.count;
    }
  }
  return counts;
}

std::string reserved_text(const std::map<std::string, int>& counts) {
  std::string text;
  std::size_t left = counts.size();
  for (const auto& [role, count] : counts) {
    const std::string_view before = text.empty() ? "" : left == 1 ? " and " : ", ";
    text += fmt::format("{}{}", before, plural(count, printable(role)));
    --left;
  }
  return text;
}

// "capacity for 4 learners, until 2026-11-21T14:13:12Z, in 8m"; "" if none is reserved.
std::string reserved_line(const JobView& view) {
  if (!view.group) return "";
  const std::string text = reserved_text(reserved_by_role(*view.group));
  if (text.empty()) return "";
  const auto until = job::reserved_until(view.job);
  if (!until) {
    return fmt::format("capacity for {}, until {} s after the coordinator begins to run", text,
                       view.job.spec.hold_seconds);
  }
  return fmt::format("capacity for {}, until {}, in {}", text, to_rfc3339(*until),
                     duration_since(view.now, *until));
}

// The messages of the conditions that report a problem.
std::vector<std::string> notes(const JobView& view) {
  std::vector<std::string> notes;
  // The PodGroup has the newer message of a waiting gang.
  const bool message_shown = !waiting_gangs(view).empty();
  for (const auto& [type, status] :
       {std::pair{"Scheduled", false}, std::pair{"PodsCreated", false},
        std::pair{"AggregatorMissing", true}, std::pair{"Failed", true}}) {
    if (message_shown && type == std::string_view("Scheduled")) continue;
    const job::Condition* found = condition(view, type, status);
    if (found != nullptr && !found->message.empty()) notes.push_back(printable(found->message));
  }
  return notes;
}

Rows summary(const JobView& view) {
  Rows rows = {{"Phase", phase_line(view)}};
  for (const auto* gang : waiting_gangs(view)) {
    rows.push_back({"Waits", fmt::format("{}, since {}", gang_title(view, *gang),
                                         moment(gang->since, view.now))});
    rows.push_back({"Because", printable(gang->message)});
  }
  if (auto reserved = reserved_line(view); !reserved.empty()) {
    rows.push_back({"Reserved", std::move(reserved)});
  }
  for (const auto& note : notes(view)) rows.push_back({"Note", note});
  return rows;
}

std::size_t wanted_by_group(const gang::PodGroup& group, Role role) {
  std::size_t slots = 0;
  for (const auto& set : group.spec.members) {
    if (set.role == to_string(role)) slots += set.slots.size();
  }
  return slots;
}

std::size_t wanted_by_job(const job::Job& job, Role role) {
  if (role == Role::kCoordinator) return 1;
  if (role == Role::kAggregator) return 0;
  const auto& spec = role_spec(job.spec, role);
  if (!spec) return 0;
  std::size_t slots = static_cast<std::size_t>(spec->replicas);
  for (const auto& entry : job.spec.requests.entries) {
    if (entry.role == role && entry.attempt == job.status.attempt) slots += entry.slots.size();
  }
  return slots;
}

std::size_t placed(const JobView& view, Role role) {
  std::size_t count = 0;
  if (!view.group) return count;
  for (const auto& gang : view.group->status.gangs) {
    for (const auto& placement : gang.placements)
      count += placement.role == to_string(role) ? 1 : 0;
  }
  return count;
}

struct RoleRow {
  Role role;
  const job::RoleCounts job::Status::*counts;
};
constexpr std::array<RoleRow, 4> kRoles{{{Role::kCoordinator, &job::Status::coordinator},
                                         {Role::kAggregator, &job::Status::aggregator},
                                         {Role::kCollector, &job::Status::collector},
                                         {Role::kLearner, &job::Status::learner}}};

// A heading and one row per role that the job has: wanted, placed (in the plan), running,
// succeeded, failed. Wanted comes from the PodGroup; without one, from the job's base replicas and
// requests.
Rows role_rows(const JobView& view) {
  Rows rows = {{"ROLE", "WANTED", "PLACED", "RUNNING", "SUCCEEDED", "FAILED"}};
  for (const auto& [role, counts_of] : kRoles) {
    const auto wanted =
        view.group ? wanted_by_group(*view.group, role) : wanted_by_job(view.job, role);
    const job::RoleCounts& counts = view.job.status.*counts_of;
    if (wanted == 0 && counts == job::RoleCounts{}) continue;
    rows.push_back({std::string(to_string(role)), std::to_string(wanted),
                    std::to_string(placed(view, role)), std::to_string(counts.active),
                    std::to_string(counts.succeeded), std::to_string(counts.failed)});
  }
  if (rows.size() == 1) rows.clear();  // no heading over nothing
  return rows;
}

// One row per node that the plan uses: its name, the slots of each role, and what is reserved
// there.
Rows planned_nodes(const JobView& view) {
  std::map<std::string, std::string> pods_by_node;
  if (!view.group) return {};
  for (const auto& gang : view.group->status.gangs) {
    for (const auto& placement : gang.placements) {
      std::string& pods = pods_by_node[placement.node];
      pods +=
          fmt::format("{}{}/{}", pods.empty() ? "" : ", ", placement.role, placement.slot.ordinal);
    }
  }
  for (const auto& gang : view.group->status.gangs) {
    for (const auto& entry : gang.reserved) pods_by_node.try_emplace(entry.node);
  }
  for (auto& [node, pods] : pods_by_node) {
    const std::string reserved = reserved_text(reserved_by_role(*view.group, node));
    if (reserved.empty()) continue;
    pods += fmt::format("{}{} reserved", pods.empty() ? "" : ", ", reserved);
  }
  Rows rows;
  for (const auto& [node, pods] : pods_by_node) rows.push_back({printable(node), pods});
  return rows;
}

// "Error, exit code 1: last message"; "" if the container has no problem.
std::string problem_of(const kube::ContainerState& container) {
  const bool ended_badly = container.terminated && container.exit_code != 0;
  const bool waits_badly = !container.terminated && !container.reason.empty() &&
                           container.reason != "ContainerCreating" &&
                           container.reason != "PodInitializing";
  if (!ended_badly && !waits_badly) return "";
  std::string text = container.reason;
  if (ended_badly)
    text += fmt::format("{}exit code {}", text.empty() ? "" : ", ", container.exit_code);
  if (container.restarts > 0) text += fmt::format(", {} restarts", container.restarts);
  return container.message.empty() ? text : text + ": " + container.message;
}

std::string problem_of(const kube::Pod& pod) {
  for (const auto& container : pod.containers) {
    if (std::string text = problem_of(container); !text.empty()) return text;
  }
  if (!pod.reason.empty()) {
    return pod.message.empty() ? pod.reason.str() : pod.reason + ": " + pod.message;
  }
  if (pod.phase == kube::PodPhase::kFailed) return "failed";
  return pod.node.empty() ? pod.unscheduled_message : "";
}

// One row per pod that failed, cannot start or cannot be bound: name and why. Then a row that says
// how many more there are.
Rows problem_rows(const JobView& view) {
  constexpr std::size_t kPodsShown = 8;
  Rows rows;
  std::size_t more = 0;
  for (const auto& pod : view.pods) {
    const std::string text = problem_of(pod);
    if (text.empty()) continue;
    if (rows.size() == kPodsShown) {
      ++more;
    } else {
      rows.push_back({printable(pod.meta.name), printable(text)});
    }
  }
  if (more > 0) rows.push_back({fmt::format("and {} more", more)});
  return rows;
}

Rows last_events(const JobView& view) {
  constexpr std::size_t kEventsShown = 8;
  Rows rows;
  const auto& events = view.events;
  const std::size_t first = events.size() > kEventsShown ? events.size() - kEventsShown : 0;
  for (std::size_t i = first; i < events.size(); ++i) {
    const EventSeen& event = events[i];
    const std::string times = event.count > 1 ? fmt::format(" (x{})", event.count) : "";
    rows.push_back({duration_since(event.time, view.now) + " ago",
                    event.warning ? "Warning" : "Normal", printable(event.reason),
                    printable(event.message) + times});
  }
  return rows;
}

bool is_waiting(const JobView& view, bool base) {
  const auto waiting = waiting_gangs(view);
  return std::any_of(waiting.begin(), waiting.end(), [base](const gang::GangStatus* gang) {
    return (gang->name == gang::kBaseGang) == base;
  });
}

bool is_observed(const gang::PodGroup& group) {
  return group.status.observed_generation >= group.meta.generation;
}

bool is_plan_rejected(const JobView& view) {
  const auto waiting = waiting_gangs(view);
  return std::any_of(waiting.begin(), waiting.end(), [](const gang::GangStatus* gang) {
    return gang->reason == gang::kReasonPlanRefused;
  });
}

struct AdviceRule {
  bool (*applies)(const JobView&);
  const char* text;  // {ns} and {job} are filled in
};

// What the user can do: the first rule that applies. Each may rely on those before it not applying.
constexpr std::array<AdviceRule, 14> kAdviceRules{{
    {[](const JobView& v) { return v.job.meta.deleting; }, "nothing: the job is being deleted."},
    {[](const JobView& v) { return v.job.status.phase == Phase::kSucceeded; },
     "nothing: the job has succeeded. The coordinator's log, while its pod is kept: "
     "kubectl logs -n {ns} {job}-coordinator"},
    {[](const JobView& v) { return v.job.status.phase == Phase::kFailed; },
     "read the coordinator's log, while its pod is kept: "
     "kubectl logs -n {ns} {job}-coordinator; then create the job again."},
    {[](const JobView& v) { return v.job.status.phase == Phase::kNone; },
     "no controller has seen this job yet. Is nervex-operator running? "
     "kubectl get deployments -n nervex-system"},
    {[](const JobView& v) { return condition(v, "PodsCreated", false) != nullptr; },
     "fix what the API server refuses; the controller retries creating the pods."},
    {[](const JobView& v) { return v.job.status.reason == "PreviousJobTerminating"; },
     "wait: the job starts when the objects of the deleted job with the same name are deleted. If "
     "that lasts: kubectl get pods -n {ns} -l nervexjob-name={job}"},
    {[](const JobView& v) { return !v.group; },
     "wait: the job is about to be queued. If that lasts: "
     "kubectl logs -n nervex-system deployment/nervex-operator"},
    {[](const JobView& v) { return !is_observed(*v.group); },
     "the extender has not answered yet. Is nervex-scheduler running? "
     "kubectl get deployments -n nervex-system"},
    {is_plan_rejected,
     "ask for fewer pods: the API server does not store the plan of so many. If it objects to "
     "something else than the size, the CustomResourceDefinitions may be of another version."},
    {[](const JobView& v) { return is_waiting(v, true); },
     "wait if others hold the capacity: the job starts, whole, as soon as it fits; "
     "who holds it: kubectl get nervexjobs --all-namespaces. If it can never fit, or no node is "
     "allowed: ask for less per pod or for fewer pods, change nodeSelector, affinity or "
     "tolerations, or add nodes."},
    {[](const JobView& v) { return is_waiting(v, false); },
     "wait, unless it can never fit: the requested replicas start as soon as there is capacity."},
    {[](const JobView& v) { return v.job.status.phase == Phase::kCreated; },
     "wait: the whole gang is scheduled, and its pods are starting. If that lasts: "
     "kubectl describe pods -n {ns} -l nervexjob-name={job}"},
    {[](const JobView& v) { return condition(v, "Ready", false) != nullptr; },
     "the coordinator runs, but not all pods are ready: "
     "kubectl get pods -n {ns} -l nervexjob-name={job}"},
    {[](const JobView&) { return true; }, "nothing: the job runs."},
}};

// One or two sentences, with the commands to type. Always says something.
std::string advice(const JobView& view) {
  const auto rule = std::find_if(kAdviceRules.begin(), kAdviceRules.end(),
                                 [&](const AdviceRule& each) { return each.applies(view); });
  return fmt::format(fmt::runtime(rule->text), fmt::arg("ns", view.job.meta.ns),
                     fmt::arg("job", view.job.meta.name));
}

constexpr std::string_view kIndent = "  ";

std::string section(std::string_view title, const Rows& rows) {
  if (rows.empty()) return "";
  return fmt::format("\n{}\n{}", title, table(rows, kIndent));
}

}  // namespace

std::string explain(const JobView& view) {
  std::string text =
      fmt::format("NerveXJob {}\n{}", view.job.meta.key(), table(summary(view), kIndent));
  text += section("Roles", role_rows(view));
  text += section("Planned nodes", planned_nodes(view));
  text += section("Problems", problem_rows(view));
  text += section("Last events", last_events(view));
  return text + "\nWhat to do: " + advice(view) + "\n";
}

}  // namespace nervex::cli
