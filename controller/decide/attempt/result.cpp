#include "controller/decide/attempt/result.h"

#include <fmt/format.h>

#include <utility>

#include "controller/decide/reasons.h"
#include "controller/decide/round/attempt.h"
#include "job/counts.h"
#include "kube/model/disruption.h"

namespace nervex::controller {

namespace {

using job::PodState;

std::string describe_end(const kube::ContainerState& main) {
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
  return fmt::format("the coordinator's container {} {}", main->name, describe_end(*main));
}

AttemptResult failed(const kube::Pod& pod) {
  AttemptResult verdict{AttemptOutcome::kFailure, kCoordinatorFailed, failure_message(pod),
                        std::nullopt, ""};
  const kube::ContainerState* main = job::main_state(pod);
  if (main == nullptr || !main->terminated) return verdict;
  verdict.exit_code = main->exit_code;
  verdict.termination_message = main->message;
  return verdict;
}

// It requests its workers again, and they expect another coordinator: all of them start again.
AttemptResult restarted(const kube::ContainerState& main) {
  AttemptResult verdict{AttemptOutcome::kFailure, kCoordinatorRestarted,
                        fmt::format("the coordinator's container {} was restarted in place: it {}",
                                    main.name, describe_end(main)),
                        main.exit_code, main.message};
  return verdict;
}

AttemptResult disrupted(std::string_view reason, const kube::Pod& pod) {
  std::string message = "the cluster disrupted the coordinator's pod";
  if (!pod.node.empty()) message += fmt::format(" on node {}", pod.node);
  if (!pod.disruption_reason.empty()) message += fmt::format(": {}", pod.disruption_reason);
  if (!pod.reason.empty()) message += fmt::format(": {} {}", pod.reason, pod.message);
  return {AttemptOutcome::kDisruption, reason, std::move(message), std::nullopt, ""};
}

AttemptResult lost(const Observed& seen) {
  if (seen.last_coordinator != nullptr) {
    if (const auto reason = kube::classify_disruption(*seen.last_coordinator)) {
      return disrupted(*reason, *seen.last_coordinator);
    }
  }
  if (seen.coordinator_node_is_lost) {
    return {AttemptOutcome::kDisruption, kNodeLost,
            "the coordinator's pod was deleted, and its node is lost", std::nullopt, ""};
  }
  return {AttemptOutcome::kFailure, kCoordinatorLost,
          "the coordinator's pod was deleted before its exit was observed", std::nullopt, ""};
}

// The planner never moves a bound coordinator. It moved the slot because the node was lost to new
// pods, while another replica of the extender bound the pod: that pod is not in the plan.
bool has_another_place(const AttemptPod& member, const gang::PodGroup& group) {
  const auto* base = gang::find_gang(group.status, gang::kBaseGang);
  if (member.pod->node.empty() || base == nullptr || !base->planned) return false;
  if (group.status.observed_generation != group.meta.generation) return false;
  for (const auto& placement : base->placements) {
    if (placement.role == to_string(member.role) && placement.slot == slot_id(member.slot)) {
      return placement.number > member.placement && placement.node != member.pod->node.str();
    }
  }
  return false;
}

// Kubernetes' pod garbage collector marks pods Failed that are deleted and were never bound.
bool has_run(const kube::Pod& pod) {
  return !pod.node.empty() && (pod.phase == kube::PodPhase::kRunning || pod.is_finished());
}

AttemptResult runs() {
  AttemptResult verdict;
  verdict.outcome = AttemptOutcome::kRuns;
  return verdict;
}

AttemptResult node_lost(const kube::Pod& pod) {
  return {AttemptOutcome::kDisruption, kNodeLost,
          fmt::format("the coordinator's node {} is lost ({})", pod.node, pod.node_lost),
          std::nullopt, ""};
}

AttemptResult judge_live(const AttemptPod& coordinator, const gang::PodGroup& group) {
  if (!coordinator.pod->node_lost.empty()) return node_lost(*coordinator.pod);
  if (has_another_place(coordinator, group)) {
    return {
        AttemptOutcome::kDisruption, kNodeLost,
        fmt::format("the coordinator was bound to node {} while the plan moved it to another node",
                    coordinator.pod->node),
        std::nullopt, ""};
  }
  const kube::ContainerState* main = job::main_state(*coordinator.pod);
  if (main != nullptr && main->restarts > 0) return restarted(*main);
  return coordinator.state == PodState::kRunning ? runs() : AttemptResult{};
}

AttemptResult judge_coordinator(const AttemptPod& coordinator, const gang::PodGroup& group) {
  const kube::Pod& pod = *coordinator.pod;
  switch (coordinator.state) {
    case PodState::kSucceeded:
      return {AttemptOutcome::kSuccess, kCompleted, "the coordinator completed", 0, ""};
    case PodState::kFailed:
      if (const auto reason = kube::classify_disruption(pod)) return disrupted(*reason, pod);
      return failed(pod);
    case PodState::kTerminating:  // a mark says why now, and goes with the pod
      if (const auto reason = kube::classify_disruption(pod)) return disrupted(*reason, pod);
      if (!pod.node_lost.empty()) return node_lost(pod);
      // It ran, perhaps unobserved: the attempt ends when it is deleted.
      return has_run(pod) ? runs() : AttemptResult{};
    case PodState::kRunning:
    case PodState::kPending:
      return judge_live(coordinator, group);
  }
  return {};
}

}  // namespace

AttemptResult judge_attempt(const Round& round) {
  if (round.seen.coordinator_is_gone) return lost(round.seen);
  if (round.seen.pod_group_is_gone) {
    return {AttemptOutcome::kFailure, kPodGroupLost,
            "the job's PodGroup was deleted while the job ran: its pods have lost their placements",
            std::nullopt, ""};
  }
  const AttemptPod* coordinator = find_coordinator(round.attempt);
  return coordinator == nullptr ? AttemptResult{}
                                : judge_coordinator(*coordinator, *round.attempt.group);
}

}  // namespace nervex::controller
