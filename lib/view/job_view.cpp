#include "view/job_view.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "gang/slot.h"
#include "job/counts.h"
#include "job/slots.h"
#include "queue/workload.h"
#include "view/waiting_gangs.h"

namespace nervex::view {
namespace {

using job::Phase;
using job::Role;
using Subject = Wait::Subject;

// ---- Waiting

PodsByRole count_pods(const gang::PodGroup& group, std::string_view name) {
  PodsByRole pods;
  const gang::Gang* gang = gang::find_gang(group.spec, name);
  if (gang == nullptr) return pods;
  for (const auto& set : gang->members) pods[set.role] += static_cast<int>(set.slots.size());
  return pods;
}

// When what the PodGroup has on these nodes is free at the latest; nullopt: nothing of it is there.
std::optional<NodeReservation::User> find_user(const gang::PodGroup& group,
                                               const std::set<std::string_view>& nodes) {
  for (std::size_t i = 0; i < group.spec.gangs.size(); ++i) {
    const auto* gang = gang::find_gang(group.status, group.spec.gangs[i].name);
    if (gang == nullptr || !gang->committed) continue;
    const bool is_there = std::any_of(
        gang->placements.begin(), gang->placements.end(),
        [&](const gang::Placement& placement) { return nodes.count(placement.node) > 0; });
    if (!is_there) continue;
    return NodeReservation::User{job_name(group),
                                 queue::latest_end(queue::make_workload(group, i))};
  }
  return std::nullopt;
}

std::optional<NodeReservation> describe_reservation(const JobSnapshot& seen,
                                                    const gang::GangStatus& gang) {
  auto described = find_reserved_nodes(gang);
  if (!described) return std::nullopt;
  const std::set<std::string_view> nodes(described->nodes.begin(), described->nodes.end());
  for (const gang::PodGroup& other : seen.others) {
    if (auto user = find_user(other, nodes)) described->users.push_back(*std::move(user));
  }
  std::sort(described->users.begin(), described->users.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.until.value_or(SysTime::max()), std::string_view(a.job)) <
           std::tuple(b.until.value_or(SysTime::max()), std::string_view(b.job));
  });
  return described;
}

Wait describe_wait(const JobSnapshot& seen, const gang::GangStatus& gang) {
  // healing_since may be in the future: the start of the healing deadline.
  const bool has_begun = gang.healing_since && *gang.healing_since <= seen.now;
  return {.subject = gang.healing_since ? Subject::kLostPods : Subject::kGang,
          .gang = gang.name,
          .pods = count_pods(*seen.group, gang.name),
          .since = has_begun ? *gang.healing_since : gang.since,
          .reason = gang.reason,
          .message = gang.message,
          .reservation = describe_reservation(seen, gang)};
}

// Waiting conditions of the job that its PodGroup does not show.
std::optional<Wait> find_waiting_condition(const JobSnapshot& seen) {
  const bool is_running = seen.job.status.phase == Phase::kRunning;
  const Subject base = is_running ? Subject::kPods : Subject::kGang;
  for (const auto& [type, subject] : {std::pair{"PodsCreated", base}, std::pair{"Scheduled", base},
                                      std::pair{"RequestsScheduled", Subject::kRequests}}) {
    const job::Condition* found = find_condition(seen, type, false);
    if (found == nullptr || found->message.empty()) continue;
    const std::string_view gang = subject == Subject::kRequests ? "" : gang::kBaseGang;
    return Wait{.subject = subject,
                .gang = std::string(gang),
                .pods = {},
                .since = found->last_transition,
                .reason = found->reason,
                .message = found->message};
  }
  return std::nullopt;
}

std::vector<Wait> find_waits(const JobSnapshot& seen) {
  std::vector<Wait> waits;
  if (is_finished(seen)) return waits;
  if (seen.job.status.phase == Phase::kNone && !seen.group) {
    waits.push_back({.subject = Subject::kGang,
                     .gang = std::string(gang::kBaseGang),
                     .pods = {},
                     .since = seen.job.meta.created,
                     .reason = "NotObserved",
                     .message = "no controller has seen the job yet"});
    return waits;
  }
  for (const auto* gang : find_waiting_gangs(seen)) waits.push_back(describe_wait(seen, *gang));
  std::stable_partition(waits.begin(), waits.end(),
                        [](const Wait& wait) { return wait.gang == gang::kBaseGang; });
  if (!waits.empty()) return waits;
  if (auto wait = find_waiting_condition(seen)) waits.push_back(*std::move(wait));
  return waits;
}

// The coordinator is bound after all other pods of the base gang.
bool has_bound_coordinator(const JobSnapshot& seen) {
  return std::any_of(seen.pods.begin(), seen.pods.end(), [&](const kube::Pod& pod) {
    return !pod.node.empty() && job::pod_role(pod) == Role::kCoordinator && seen.group &&
           kube::annotation(pod.meta, gang::kPodGroupUidAnnotation) == seen.group->meta.uid;
  });
}

std::optional<SysTime> find_schedule_timeout(const JobSnapshot& seen) {
  const job::Status& status = seen.job.status;
  const auto& timeout = seen.job.spec.schedule_timeout_seconds;
  const bool counts = status.phase == Phase::kCreated && !seen.job.spec.suspend;
  if (!timeout || !status.waiting_since || !counts) return std::nullopt;
  if (has_bound_coordinator(seen)) return std::nullopt;
  // The back-off after a failed attempt does not count. A job whose pods the API server refuses
  // waits in the queue, and that counts.
  const job::Condition* created = find_condition(seen, "PodsCreated", false);
  const bool is_refused = created != nullptr && created->reason == "FailedCreate";
  const SysTime backed_off = status.next_attempt_time.value_or(SysTime{});
  const SysTime from =
      is_refused ? *status.waiting_since : std::max(*status.waiting_since, backed_off);
  return from + std::chrono::seconds(*timeout);
}

// ---- Wanted and existing pods

// The status counts pods of multi-GPU learners as learners.
bool counts_as(std::string_view role, Role counted) {
  return role == to_string(counted) ||
         (counted == Role::kLearner && role == to_string(Role::kDdpLearner));
}

int count_wanted(const job::Job& job, Role role) {
  if (role == Role::kCoordinator) return 1;
  if (role == Role::kAggregator || role == Role::kDdpLearner) return 0;
  const auto& spec = role_spec(job.spec, role);
  if (!spec) return 0;
  int pods = spec->replicas - job::count_removed(job, role);
  for (const auto& entry : job.spec.requests.entries) {
    if (entry.role != role || entry.attempt != job.status.attempt) continue;
    pods += static_cast<int>(entry.slots.size());
  }
  return pods;
}

template <typename Counts>
int count_slots(const gang::PodGroup& group, Counts counts) {
  std::size_t slots = 0;
  for (const auto& set : gang::all_sets(group.spec.gangs)) {
    if (counts(set.role)) slots += set.slots.size();
  }
  return static_cast<int>(slots);
}

int count_placed(const JobSnapshot& seen, Role role) {
  if (!seen.group) return 0;
  int placed = 0;
  for (const auto& gang : seen.group->status.gangs) {
    for (const auto& placement : gang.placements) placed += counts_as(placement.role, role) ? 1 : 0;
  }
  return placed;
}

std::vector<RoleView> summarize_roles(const JobSnapshot& seen) {
  const job::Status& status = seen.job.status;
  std::vector<RoleView> roles;
  for (const auto& [role, counts] : {std::pair{Role::kCoordinator, &status.coordinator},
                                     std::pair{Role::kAggregator, &status.aggregator},
                                     std::pair{Role::kCollector, &status.collector},
                                     std::pair{Role::kLearner, &status.learner}}) {
    const Role counted = role;
    const int wanted =
        seen.group ? count_slots(*seen.group,
                                 [&](const std::string& one) { return counts_as(one, counted); })
                   : count_wanted(seen.job, role);
    if (wanted == 0 && *counts == job::RoleCounts{}) continue;
    roles.push_back({role, wanted, count_placed(seen, role), *counts});
  }
  return roles;
}

// ---- Planned nodes

void add_reserved(const gang::PodGroup& group, const gang::ReservedCapacity& entry,
                  PodsByRole& pods) {
  const gang::MemberSet* set = gang::find_set(group.spec, entry.set);
  if (set != nullptr) pods[set->role] += entry.count;
}

std::optional<Reservation> find_reservation(const JobSnapshot& seen) {
  if (!seen.group) return std::nullopt;
  Reservation reservation;
  for (const auto& gang : seen.group->status.gangs) {
    for (const auto& entry : gang.reserved) add_reserved(*seen.group, entry, reservation.pods);
  }
  if (reservation.pods.empty()) return std::nullopt;
  reservation.until = job::reserved_until(seen.job);
  reservation.seconds_after_start = job::reservation_seconds(seen.job);
  return reservation;
}

std::vector<PlannedNode> summarize_nodes(const JobSnapshot& seen) {
  std::map<std::string, PlannedNode> by_name;
  const auto node = [&](const std::string& name) -> PlannedNode& {
    PlannedNode& found = by_name[name];
    found.name = name;
    return found;
  };
  if (!seen.group) return {};
  for (const auto& gang : seen.group->status.gangs) {
    for (const auto& placement : gang.placements) {
      node(placement.node)
          .slots.push_back(placement.role + "/" + std::to_string(placement.slot.ordinal));
    }
    for (const auto& entry : gang.reserved) {
      add_reserved(*seen.group, entry, node(entry.node).reserved);
    }
  }
  std::vector<PlannedNode> nodes;
  nodes.reserve(by_name.size());
  for (auto& [name, planned] : by_name) nodes.push_back(std::move(planned));
  return nodes;
}

// ---- Warnings

void add_condition_notes(const JobSnapshot& seen, JobView& view) {
  for (const auto& [type, status] :
       {std::pair{"PodsCreated", false}, std::pair{"PodsRefused", true},
        std::pair{"AggregatorMissing", true}, std::pair{"Requeued", true},
        std::pair{"RequestsLost", true}, std::pair{"Failed", true}}) {
    const job::Condition* found = find_condition(seen, type, status);
    if (found == nullptr || found->message.empty()) continue;
    const bool is_said = std::any_of(view.waits.begin(), view.waits.end(), [&](const Wait& wait) {
      return wait.message == found->message;
    });
    if (!is_said) view.notes.push_back({type, found->message});
  }
}

int count_base_replicas(const job::Job& job, Role role) {
  const auto replicas = job::wanted_replicas(job, role);
  return static_cast<int>(
      std::count_if(replicas.begin(), replicas.end(),
                    [](const job::Replica& replica) { return replica.entry == nullptr; }));
}

void add_budget_notes(const JobSnapshot& seen, JobView& view) {
  if (is_finished(seen)) return;
  std::vector<RolePods> roles;
  for (const Role role : {Role::kCoordinator, Role::kAggregator, Role::kCollector, Role::kLearner,
                          Role::kDdpLearner}) {
    const int wanted =
        seen.group ? count_slots(*seen.group,
                                 [&](const std::string& one) { return one == to_string(role); })
                   : count_wanted(seen.job, role);
    const int base = std::min(wanted, count_base_replicas(seen.job, role));
    const bool is_worker = role == Role::kCollector || role == Role::kLearner;
    roles.push_back({role, is_worker ? base : wanted});
    if (is_worker) roles.push_back({role, wanted - base, true});
  }
  for (const auto& problem : find_budget_problems(seen.job, roles, seen.budgets)) {
    view.notes.push_back({"PodDisruptionBudget", describe(problem)});
  }
}

void add_removed_notes(const JobSnapshot& seen, JobView& view) {
  if (is_finished(seen)) return;
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    const int removed = job::count_removed(seen.job, role);
    if (removed == 0) continue;
    view.notes.push_back(
        {"ReplicasRemoved",
         fmt::format("{0} of {1} base {2}s stay removed: the coordinator removed them. They return "
                     "when spec.{2}.replicas is set to another number",
                     removed, job::role_spec(seen.job.spec, role)->replicas, to_string(role))});
  }
}

std::vector<PodProblem> find_problems(const std::vector<kube::Pod>& pods) {
  std::vector<PodProblem> problems;
  for (const auto& pod : pods) {
    if (auto problem = find_problem(pod)) problems.push_back(*std::move(problem));
  }
  return problems;
}

}  // namespace

std::optional<NodeReservation> find_reserved_nodes(const gang::GangStatus& gang) {
  if (!gang.reservation || gang.reservation->nodes.empty()) return std::nullopt;
  std::set<std::string_view> nodes;
  for (const auto& entry : gang.reservation->nodes) nodes.insert(entry.node);
  return NodeReservation{
      {nodes.begin(), nodes.end()}, gang.reservation->since, gang.reservation->due, {}};
}

std::string job_name(const gang::PodGroup& group) {
  return group.meta.owner ? group.meta.owner->name : group.meta.name;
}

std::string_view to_string(Subject subject) {
  switch (subject) {
    case Subject::kGang:
      return "Gang";
    case Subject::kLostPods:
      return "LostPods";
    case Subject::kPods:
      return "Pods";
    case Subject::kRequests:
      return "Requests";
  }
  return "";
}

JobView summarize(const JobSnapshot& seen) {
  const job::Status& status = seen.job.status;
  JobView view;
  view.ns = seen.job.meta.ns;
  view.name = seen.job.meta.name;
  view.now = seen.now;
  view.created = seen.job.meta.created;
  view.phase = status.phase;
  view.reason = status.reason;
  if (const auto* reached = find_condition(seen, to_string(status.phase), true)) {
    view.since = reached->last_transition;
  }
  view.queue = status.queue;
  view.waits = find_waits(seen);
  if (!view.waits.empty()) view.fails_at = find_schedule_timeout(seen);
  view.avoided = avoided_nodes(seen);
  view.reservation = find_reservation(seen);
  add_condition_notes(seen, view);
  add_removed_notes(seen, view);
  add_budget_notes(seen, view);
  view.roles = summarize_roles(seen);
  view.nodes = summarize_nodes(seen);
  view.problems = find_problems(seen.pods);
  view.events = seen.events;
  view.advice = find_advice(seen);
  return view;
}

}  // namespace nervex::view
