#include "cli/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/duration.h"
#include "cli/text.h"
#include "gang/outage_tolerations.h"
#include "gang/plan.h"

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

std::string plural(int count, std::string_view role) {
  return fmt::format("{} {}{}", count, role, count == 1 ? "" : "s");
}

// "the whole gang", or "request-1 (1 aggregator, 2 ddp-learners)"; of one that has lost pods "lost
// pods of the whole gang"
std::string gang_title(const JobView& view, const gang::GangStatus& gang) {
  std::map<std::string_view, int> roles;
  for (const auto& set : view.group->spec.members) {
    if (set.gang == gang.name) roles[set.role] += static_cast<int>(set.slots.size());
  }
  std::string counts;
  for (const auto& [role, count] : roles) {
    counts += (counts.empty() ? "" : ", ") + plural(count, printable(role));
  }
  std::string title = gang.name == gang::kBaseGang ? "the whole gang"
                      : counts.empty()             ? gang.name
                                                   : fmt::format("{} ({})", gang.name, counts);
  return gang.healing_since ? "lost pods of " + title : title;
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
                       job::reservation_seconds(view.job));
  }
  return fmt::format("capacity for {}, until {}, in {}", text, to_rfc3339(*until),
                     duration_since(view.now, *until));
}

// Something of the job that waits.
struct Wait {
  std::string what;
  SysTime since{};
  std::string because;
};

bool is_final(const JobView& view) {
  const Phase phase = view.job.status.phase;
  return phase == Phase::kSucceeded || phase == Phase::kFailed;
}

// The PodGroup has the newest message of a gang. What it does not know of, the job says itself.
std::vector<Wait> waits_of(const JobView& view) {
  std::vector<Wait> waits;
  if (is_final(view)) return waits;
  if (view.job.status.phase == Phase::kNone) {
    return {{"the whole gang", view.job.meta.created, "no controller has seen the job yet"}};
  }
  for (const auto* gang : waiting_gangs(view)) {
    // It may be yet to come: when the healing deadline begins.
    const bool has_begun = gang->healing_since && *gang->healing_since <= view.now;
    const SysTime since = has_begun ? *gang->healing_since : gang->since;
    waits.push_back({gang_title(view, *gang), since, printable(gang->message)});
  }
  if (!waits.empty()) return waits;
  const bool is_running = view.job.status.phase == Phase::kRunning;
  const std::string_view base = is_running ? "pods of the whole gang" : "the whole gang";
  for (const auto& [type, status, what] :
       {std::tuple{"PodsCreated", false, base}, std::tuple{"Scheduled", false, base},
        std::tuple{"RequestsScheduled", false, std::string_view("requested replicas")}}) {
    const job::Condition* found = condition(view, type, status);
    if (found == nullptr || found->message.empty()) continue;
    return {{std::string(what), found->last_transition, printable(found->message)}};
  }
  return waits;
}

// When the job fails if it has not started: "2026-11-21T14:13:12Z, in 8m: then the job fails
// (scheduleTimeoutSeconds)"; "" if it may wait forever.
std::string until_line(const JobView& view) {
  const job::Status& status = view.job.status;
  const auto& timeout = view.job.spec.schedule_timeout_seconds;
  const bool counts = status.phase == Phase::kCreated && !view.job.spec.suspend;
  if (!timeout || !status.waiting_since || !counts || waits_of(view).empty()) return "";
  // While the API server refuses its pods the job waits in the queue; the back-off after a failed
  // attempt is no waiting.
  const job::Condition* created = condition(view, "PodsCreated", false);
  const bool is_refused = created != nullptr && created->reason == "FailedCreate";
  const SysTime backed_off = status.next_attempt_time.value_or(SysTime{});
  const SysTime from =
      is_refused ? *status.waiting_since : std::max(*status.waiting_since, backed_off);
  const SysTime until = from + std::chrono::seconds(*timeout);
  return fmt::format("{}, in {}: then the job fails (scheduleTimeoutSeconds)", to_rfc3339(until),
                     duration_since(view.now, until));
}

// "node gpu-0 for learner until 2026-11-21T14:13:12Z, in 8m, and 2 more"; "" without any.
std::string avoided_line(const JobView& view) {
  if (!view.group || waiting_gangs(view).empty()) return "";
  const gang::AvoidedNode* last = nullptr;
  std::size_t count = 0;
  for (const auto& avoided : view.group->status.avoid) {
    if (avoided.until <= view.now) continue;
    ++count;
    if (last == nullptr || avoided.until > last->until) last = &avoided;
  }
  if (last == nullptr) return "";
  return fmt::format("node {} for {} until {}, in {}{}", printable(last->node),
                     printable(last->set), to_rfc3339(last->until),
                     duration_since(view.now, last->until),
                     count == 1 ? "" : fmt::format(", and {} more before", count - 1));
}

// What other conditions report.
std::vector<std::string> notes(const JobView& view, const std::vector<Wait>& shown) {
  std::vector<std::string> notes;
  for (const auto& [type, status] :
       {std::pair{"PodsCreated", false}, std::pair{"PodsRefused", true},
        std::pair{"AggregatorMissing", true}, std::pair{"Requeued", true},
        std::pair{"RequestsLost", true}, std::pair{"Failed", true}}) {
    const job::Condition* found = condition(view, type, status);
    if (found == nullptr || found->message.empty()) continue;
    std::string note = printable(found->message);
    const bool is_shown = std::any_of(shown.begin(), shown.end(),
                                      [&](const Wait& wait) { return wait.because == note; });
    if (type == std::string_view("Requeued")) note.insert(0, "queued again: ");
    if (!is_shown) notes.push_back(std::move(note));
  }
  return notes;
}

std::size_t wanted_pods(const JobView& view, Role role);

std::vector<std::string> budget_notes(const JobView& view) {
  if (is_final(view)) return {};
  std::vector<RolePods> roles;
  for (const Role role : {Role::kCoordinator, Role::kAggregator, Role::kCollector, Role::kLearner,
                          Role::kDdpLearner}) {
    roles.push_back({role, static_cast<int>(wanted_pods(view, role))});
  }
  return budget_notes(view.job, roles, view.budgets);
}

Rows summary(const JobView& view) {
  Rows rows = {{"Phase", phase_line(view)}};
  const std::vector<Wait> waits = waits_of(view);
  for (const Wait& wait : waits) {
    rows.push_back({"Waits", fmt::format("{}, since {}", wait.what, moment(wait.since, view.now))});
    rows.push_back({"Because", wait.because});
  }
  for (const auto& [title, text] :
       {std::pair{"Until", until_line(view)}, std::pair{"Avoided", avoided_line(view)},
        std::pair{"Reserved", reserved_line(view)}}) {
    if (!text.empty()) rows.push_back({title, text});
  }
  for (const auto& note : notes(view, waits)) rows.push_back({"Note", note});
  for (const auto& note : budget_notes(view)) rows.push_back({"Note", printable(note)});
  return rows;
}

// The status counts the pods of multi-GPU learners as learners.
bool counts_as(std::string_view of, Role role) {
  return of == to_string(role) || (role == Role::kLearner && of == to_string(Role::kDdpLearner));
}

std::size_t wanted_by_group(const gang::PodGroup& group, Role role) {
  std::size_t slots = 0;
  for (const auto& set : group.spec.members) {
    if (counts_as(set.role, role)) slots += set.slots.size();
  }
  return slots;
}

std::size_t wanted_by_job(const job::Job& job, Role role) {
  if (role == Role::kCoordinator) return 1;
  if (role == Role::kAggregator || role == Role::kDdpLearner) return 0;
  const auto& spec = role_spec(job.spec, role);
  if (!spec) return 0;
  std::size_t slots = static_cast<std::size_t>(spec->replicas);
  for (const auto& entry : job.spec.requests.entries) {
    if (entry.role == role && entry.attempt == job.status.attempt) slots += entry.slots.size();
  }
  return slots;
}

// Of that very role: ddp-learners are none of the learners.
std::size_t wanted_pods(const JobView& view, Role role) {
  if (!view.group) return wanted_by_job(view.job, role);
  std::size_t slots = 0;
  for (const auto& set : view.group->spec.members) {
    if (set.role == to_string(role)) slots += set.slots.size();
  }
  return slots;
}

std::size_t placed(const JobView& view, Role role) {
  std::size_t count = 0;
  if (!view.group) return count;
  for (const auto& gang : view.group->status.gangs) {
    for (const auto& placement : gang.placements) count += counts_as(placement.role, role) ? 1 : 0;
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

// A pod on a node that is away is not Ready, and may stay so for as long as its template says.
std::string tolerance_of(const kube::Pod& pod) {
  if (pod.ready || pod.phase != kube::PodPhase::kRunning) return "";
  kube::Node node;
  node.is_unreachable = kube::annotation(pod.meta, gang::kToleratesNotReadyAnnotation).empty();
  const auto tolerated = gang::tolerated_outage(pod, node);
  if (!tolerated) return "";
  const bool is_always = *tolerated == std::chrono::seconds::max();
  return fmt::format("not Ready; its template tolerates that node {} is {} {}", pod.node,
                     node.is_unreachable ? "unreachable" : "not Ready",
                     is_always ? "for any time" : "for " + short_duration(*tolerated));
}

std::string problem_of(const kube::Pod& pod) {
  for (const auto& container : pod.containers) {
    if (std::string text = problem_of(container); !text.empty()) return text;
  }
  if (!pod.reason.empty()) {
    return pod.message.empty() ? pod.reason.str() : pod.reason + ": " + pod.message;
  }
  if (pod.phase == kube::PodPhase::kFailed) return "failed";
  if (!pod.node_lost.empty())
    return fmt::format("its node {} is lost: {}", pod.node, pod.node_lost);
  if (std::string text = tolerance_of(pod); !text.empty()) return text;
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

// The first gang that waits; the base gang if it is among them. nullptr: none does.
const gang::GangStatus* first_waiting(const JobView& view) {
  const auto waiting = waiting_gangs(view);
  const auto base = std::find_if(waiting.begin(), waiting.end(), [](const gang::GangStatus* gang) {
    return gang->name == gang::kBaseGang;
  });
  return base != waiting.end() ? *base : waiting.empty() ? nullptr : waiting.front();
}

bool is_observed(const gang::PodGroup& group) {
  return group.status.observed_generation >= group.meta.generation;
}

bool has_reason(const JobView& view, std::string_view reason) {
  return view.job.status.reason == reason;
}

bool has_failed(const JobView& view) { return view.job.status.phase == Phase::kFailed; }

// The first gang that waits does so for that reason.
bool waits_for(const JobView& view, std::string_view reason) {
  const auto* gang = first_waiting(view);
  return gang != nullptr && gang->reason == reason;
}

bool helps(const JobView& view, gang::Remedy remedy) {
  const auto* gang = first_waiting(view);
  return gang != nullptr && gang::remedy_for(gang->message) == remedy;
}

bool is_refused(const JobView& view) {
  const auto* gang = first_waiting(view);
  if (gang == nullptr) return false;
  const bool is_avoiding = gang->refusals.count > 0 && !avoided_line(view).empty();
  return gang->reason == gang::kReasonRefusedByScheduler || is_avoiding;
}

bool waits_on_top(const JobView& view) {
  const auto* gang = first_waiting(view);
  return gang != nullptr && gang->name != gang::kBaseGang;
}

// Base replicas that were added to a job that runs: "base-collector-2" (controller/decide).
bool is_added_base(const JobView& view) {
  const auto* gang = first_waiting(view);
  return gang != nullptr && gang->name.starts_with(std::string(gang::kBaseGang) + "-");
}

bool has_failed_pods(const JobView& view) {
  return std::any_of(view.pods.begin(), view.pods.end(), [](const kube::Pod& pod) {
    return pod.phase == kube::PodPhase::kFailed && !pod.meta.deleting;
  });
}

struct AdviceRule {
  bool (*applies)(const JobView&);
  const char* text;  // {ns} and {job} are filled in
};

// What the user can do, or what happens without: the first rule that applies. Each may rely on
// those before it not applying.
constexpr std::array kAdviceRules = std::to_array<AdviceRule>({
    {[](const JobView& v) { return v.job.meta.deleting; }, "nothing: the job is being deleted."},
    {[](const JobView& v) { return v.job.status.phase == Phase::kSucceeded; },
     "nothing: the job has succeeded. The coordinator's log, while its pod is kept: "
     "kubectl logs -n {ns} {job}-coordinator"},
    {[](const JobView& v) { return has_failed(v) && has_reason(v, "ScheduleTimeout"); },
     "create the job again, with a longer scheduleTimeoutSeconds or asking for less. Why it did "
     "not start is in the note."},
    {[](const JobView& v) { return has_failed(v) && has_reason(v, "DeadlineExceeded"); },
     "create the job again, with a longer activeDeadlineSeconds if it needs more time."},
    {[](const JobView& v) { return has_failed(v) && has_reason(v, "StartTimeout"); },
     "correct what kept its pods from running, which the note says, and create the job again; with "
     "a longer startTimeoutSeconds if it needs more time."},
    {has_failed,
     "read the coordinator's log, while its pod is kept: "
     "kubectl logs -n {ns} {job}-coordinator; then create the job again."},
    {[](const JobView& v) { return v.job.status.phase == Phase::kNone; },
     "no controller has seen this job yet. Is nervex-operator running? "
     "kubectl get deployments -n nervex-system"},
    {[](const JobView& v) { return v.job.spec.suspend; },
     "nothing, until it shall run: kubectl patch nervexjob {job} -n {ns} --type merge -p "
     "'{{\"spec\":{{\"suspend\":false}}}}'"},
    {[](const JobView& v) { return has_reason(v, "InvalidName"); },
     "create the job under another name, as the note says, and delete this one: a name cannot be "
     "changed."},
    {[](const JobView& v) {
       const auto* refused = condition(v, "PodsCreated", false);
       return refused != nullptr && has_reason(v, refused->reason);
     },
     "fix what the API server refuses; the controller notices by itself, mostly within a minute or "
     "two, and tries again at least every 6 minutes."},
    {[](const JobView& v) { return condition(v, "PodsRefused", true) != nullptr; },
     "correct what the note says: change the template that it names, or create what the template "
     "refers to. The job keeps its place in the queue, and the API server is asked again within a "
     "minute; otherwise no pod of it can be created when its turn comes."},
    {[](const JobView& v) { return has_reason(v, "PreviousJobTerminating"); },
     "wait: the job starts when the objects of the deleted job with the same name are deleted. If "
     "that lasts: kubectl get pods -n {ns} -l nervexjob-name={job}"},
    {[](const JobView& v) { return has_reason(v, "PreviousAttemptTerminating"); },
     "wait, or end the pod that is named above: the next attempt starts when it is gone. If its "
     "node is off for good: kubectl delete pod -n {ns} POD --force"},
    {[](const JobView& v) { return has_reason(v, "PriorityClassMissing"); },
     "create the PriorityClass, and the job starts by itself; or create the job again with one "
     "that "
     "exists: kubectl get priorityclasses"},
    {[](const JobView& v) { return has_reason(v, "AggregatorMissing"); },
     "create the AggregatorConfig: what waits for it starts by itself. Which there are: "
     "kubectl get aggregatorconfigs --all-namespaces"},
    {[](const JobView& v) { return has_reason(v, "BackOff"); },
     "nothing: the next attempt begins by itself. How the last one ended: "
     "kubectl get nervexjob {job} -n {ns} -o jsonpath='{{.status.lastAttempt}}'"},
    {[](const JobView& v) { return !v.group; },
     "wait: the job is about to be queued. If that lasts: "
     "kubectl logs -n nervex-system deployment/nervex-operator"},
    {[](const JobView& v) { return !is_observed(*v.group); },
     "the extender has not answered yet. Is nervex-scheduler running? "
     "kubectl get deployments -n nervex-system"},
    {[](const JobView& v) { return waits_for(v, gang::kReasonPlanRefused); },
     "ask for fewer pods: the API server does not store the plan of so many. If it objects to "
     "something else than the size, the CustomResourceDefinitions may be of another version."},
    {[](const JobView& v) {
       const auto* gang = first_waiting(v);
       return gang != nullptr && gang->healing_since.has_value();
     },
     "nothing has to be done: lost pods get a new place as soon as there is one. After the time "
     "above all pods of the gang are deleted and it is queued again, which uses no retry. A node "
     "that comes back, or freed capacity, helps."},
    {[](const JobView& v) { return waits_for(v, gang::kReasonPlanExpired); },
     "nothing, if it was a restart: the gang is planned again by itself, at least every 5 minutes. "
     "Else look at the deployment that the message names: kubectl logs -n nervex-system "
     "deployment/nervex-scheduler, or nervex-operator; or, if the message says so, remove the "
     "pods' "
     "schedulingGates in time."},
    {is_refused,
     "wait if what kube-scheduler objects to passes: the gang is planned again by itself, and a "
     "node that was refused is tried again later. Else change it: pod affinity, topology spread, "
     "volumes or resource claims of the template, or the pods that are in the way."},
    {[](const JobView& v) {
       return waits_for(v, gang::kReasonOverQuota) && helps(v, gang::Remedy::kAskForLess);
     },
     "ask for less or have the quota raised, waiting does not help: "
     "kubectl describe resourcequotas -n {ns}"},
    {[](const JobView& v) { return waits_for(v, gang::kReasonOverQuota); },
     "wait until others of the namespace use less, or have the quota raised; the gang starts by "
     "itself then: kubectl describe resourcequotas -n {ns}"},
    {[](const JobView& v) { return is_added_base(v) && helps(v, gang::Remedy::kAskForLess); },
     "lower spec.collector.replicas or spec.learner.replicas again (kubectl edit nervexjob {job} "
     "-n {ns}), or add nodes: waiting does not help, the added replicas do not even fit these "
     "nodes when they are empty. The job runs meanwhile."},
    {[](const JobView& v) { return waits_on_top(v) && helps(v, gang::Remedy::kAskForLess); },
     "take the request back (kubectl nervex replicas remove {job} -n {ns} --collectors N, or "
     "--learners N: the newest of that role go first), ask for less, or add nodes: waiting does "
     "not help, it does not even fit these nodes when they are empty. The job runs meanwhile."},
    {[](const JobView& v) { return helps(v, gang::Remedy::kAskForLess); },
     "ask for less per pod or for fewer pods, or add nodes: waiting does not help, the gang does "
     "not even fit these nodes when they are empty."},
    {[](const JobView& v) { return helps(v, gang::Remedy::kAllowNodes); },
     "change nodeSelector, affinity or tolerations, or have nodes labelled, uncordoned or "
     "repaired; the gang starts by itself then: kubectl get nodes --show-labels"},
    {waits_on_top,
     "wait: the requested replicas start by themselves, all together, as soon as they fit, and the "
     "job runs meanwhile. Who holds the capacity: kubectl get nervexjobs --all-namespaces, and of "
     "all pods kubectl describe nodes"},
    {[](const JobView& v) { return first_waiting(v) != nullptr; },
     "wait: the job starts by itself, whole, as soon as it fits. Who holds the capacity, by pods "
     "or reserved for requests (reservedReplicas): kubectl get nervexjobs --all-namespaces, and of "
     "all "
     "pods kubectl describe nodes"},
    {[](const JobView& v) { return condition(v, "RequestsScheduled", false) != nullptr; },
     "nothing: the requested replicas are tried again by themselves."},
    {[](const JobView& v) { return v.job.status.phase == Phase::kCreated; },
     "wait: the whole gang is scheduled, and its pods are starting. If that lasts: "
     "kubectl describe pods -n {ns} -l nervexjob-name={job}"},
    {[](const JobView& v) { return condition(v, "Ready", false) != nullptr; },
     "the coordinator runs, but not all pods are ready: "
     "kubectl get pods -n {ns} -l nervexjob-name={job}"},
    {has_failed_pods,
     "the job runs, and replicas of it have failed. They are not made again by themselves: their "
     "coordinator asks for it, or kubectl nervex replicas replace {job} -n {ns} POD. Why one "
     "failed: kubectl logs -n {ns} POD"},
    {[](const JobView&) { return true; }, "nothing: the job runs."},
});

// One or two sentences, with the commands to type. Always says something.
std::string advice(const JobView& view) {
  const auto rule = std::find_if(kAdviceRules.begin(), kAdviceRules.end(),
                                 [&](const AdviceRule& each) { return each.applies(view); });
  std::string text = fmt::format(fmt::runtime(rule->text), fmt::arg("ns", view.job.meta.ns),
                                 fmt::arg("job", view.job.meta.name));
  const bool waits = text.starts_with("wait: ");
  if (waits && helps(view, gang::Remedy::kOpenNodes)) {
    text +=
        ". Nodes that are cordoned or not ready, as the reason says, may help, too: kubectl get "
        "nodes";
  }
  return text;
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
