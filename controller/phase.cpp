#include "controller/phase.h"

#include <fmt/format.h>

#include "controller/reasons.h"
#include "job/disruption.h"

namespace nervex::controller {
namespace {

using job::PodState;

std::string end_of(const kube::ContainerState& main) {
  std::string text = fmt::format("exited with {}", main.exit_code);
  if (!main.reason.empty()) text += fmt::format(" ({})", main.reason);
  if (!main.message.empty()) text += ": " + main.message;
  return text;
}

std::string failure_message(const kube::Pod& pod) {
  if (!pod.reason.empty())
    return fmt::format("the coordinator was stopped: {} {}", pod.reason, pod.message);
  const kube::ContainerState* main = job::main_state(pod);
  if (main == nullptr || !main->terminated) return "the coordinator failed";
  return fmt::format("the coordinator's container {} {}", main->name, end_of(*main));
}

Verdict failed(const kube::Pod& pod) {
  Verdict verdict{AttemptOutcome::kFailed, kCoordinatorFailed, failure_message(pod), std::nullopt,
                  ""};
  const kube::ContainerState* main = job::main_state(pod);
  if (main == nullptr || !main->terminated) return verdict;
  verdict.exit_code = main->exit_code;
  verdict.termination_message = main->message;
  return verdict;
}

// It asks for its workers again, and they for another coordinator: they all begin again.
Verdict restarted(const kube::ContainerState& main) {
  Verdict verdict{AttemptOutcome::kFailed, kCoordinatorRestarted,
                  fmt::format("the coordinator's container {} was restarted in place: it {}",
                              main.name, end_of(main)),
                  main.exit_code, main.message};
  return verdict;
}

Verdict disrupted(std::string_view reason, const kube::Pod& pod) {
  std::string message = "the cluster took the coordinator's pod away";
  if (!pod.disruption_reason.empty()) message += fmt::format(": {}", pod.disruption_reason);
  if (!pod.reason.empty()) message += fmt::format(": {} {}", pod.reason, pod.message);
  return {AttemptOutcome::kDisrupted, reason, std::move(message), std::nullopt, ""};
}

Verdict lost(const Observed& seen) {
  if (seen.last_coordinator != nullptr) {
    if (const auto reason = job::disruption_of(*seen.last_coordinator)) {
      return disrupted(*reason, *seen.last_coordinator);
    }
  }
  if (seen.coordinator_node_is_lost) {
    return {AttemptOutcome::kDisrupted, kNodeLost,
            "the coordinator's pod is gone, and so is its node", std::nullopt, ""};
  }
  return {AttemptOutcome::kFailed, kCoordinatorLost,
          "the coordinator's pod is gone, and nobody saw how it ended", std::nullopt, ""};
}

// The planner gives a bound coordinator another place only when its node is lost.
bool has_another_place(const AttemptPod& of, const gang::PodGroup& group) {
  const auto* base = gang::find_gang(group.status, gang::kBaseGang);
  if (of.pod->node.empty() || base == nullptr || !base->planned) return false;
  if (group.status.observed_generation != group.meta.generation) return false;
  for (const auto& place : base->placements) {
    if (place.role == to_string(of.role) && place.slot == slot_id(of.slot)) {
      return place.number > of.placement && place.node != of.pod->node.str();
    }
  }
  return false;
}

bool has_run(const kube::Pod& pod) {
  return pod.phase == kube::PodPhase::kRunning || pod.is_finished();
}

Verdict runs() {
  Verdict verdict;
  verdict.outcome = AttemptOutcome::kRuns;
  return verdict;
}

Verdict judge_live(const AttemptPod& coordinator, const gang::PodGroup& group) {
  if (has_another_place(coordinator, group)) {
    return {AttemptOutcome::kDisrupted, kNodeLost, "the coordinator's node is lost", std::nullopt,
            ""};
  }
  const kube::ContainerState* main = job::main_state(*coordinator.pod);
  if (main != nullptr && main->restarts > 0) return restarted(*main);
  return coordinator.state == PodState::kRunning ? runs() : Verdict{};
}

Verdict judge_coordinator(const AttemptPod& coordinator, const gang::PodGroup& group) {
  const kube::Pod& pod = *coordinator.pod;
  switch (coordinator.state) {
    case PodState::kSucceeded:
      return {AttemptOutcome::kSucceeded, kCompleted, "the coordinator has completed", 0, ""};
    case PodState::kFailed:
      if (const auto reason = job::disruption_of(pod)) return disrupted(*reason, pod);
      return failed(pod);
    case PodState::kTerminating:  // a mark now says why, which nobody can read when it is gone
      if (const auto reason = job::disruption_of(pod)) return disrupted(*reason, pod);
      // It ran, though nobody may have looked while it did: the attempt ends when it is gone.
      return has_run(pod) ? runs() : Verdict{};
    case PodState::kRunning:
    case PodState::kPending:
      return judge_live(coordinator, group);
  }
  return {};
}

}  // namespace

Verdict judge_attempt(const Observed& seen, const Attempt& attempt) {
  if (seen.coordinator_is_gone) return lost(seen);
  if (seen.pod_group_is_gone) {
    return {AttemptOutcome::kFailed, kPodGroupLost,
            "the job's PodGroup was deleted while the job ran: its pods have lost their places",
            std::nullopt, ""};
  }
  const AttemptPod* coordinator = coordinator_of(attempt);
  return coordinator == nullptr ? Verdict{} : judge_coordinator(*coordinator, *attempt.group);
}

}  // namespace nervex::controller
