#include "controller/phase.h"

#include <fmt/format.h>

#include "controller/reasons.h"

namespace nervex::controller {
namespace {

using job::Phase;
using job::PodState;

std::string failure_message(const kube::Pod& pod) {
  if (!pod.reason.empty())
    return fmt::format("the coordinator was stopped: {} {}", pod.reason, pod.message);
  const kube::ContainerState* main = job::main_state(pod);
  if (main == nullptr || !main->terminated) return "the coordinator failed";
  std::string text =
      fmt::format("the coordinator's container {} exited with {}", main->name, main->exit_code);
  if (!main->reason.empty()) text += fmt::format(" ({})", main->reason);
  if (!main->message.empty()) text += ": " + main->message;
  return text;
}

}  // namespace

PhaseVerdict judge_phase(const Observed& seen, const Attempt& attempt) {
  if (seen.coordinator_is_gone) {
    return {Phase::kFailed, kCoordinatorLost,
            "the coordinator's pod is gone, and nobody saw how it ended"};
  }
  if (seen.pod_group_is_gone) {
    return {Phase::kFailed, kPodGroupLost,
            "the job's PodGroup was deleted while the job ran: its pods have lost their places"};
  }
  const AttemptPod* coordinator = coordinator_of(attempt);
  const PhaseVerdict unchanged{seen.job.status.phase, "", ""};
  if (coordinator == nullptr) return unchanged;
  switch (coordinator->state) {
    case PodState::kRunning:
      return {Phase::kRunning, "", ""};
    case PodState::kSucceeded:
      return {Phase::kSucceeded, kCompleted, "the coordinator has completed"};
    case PodState::kFailed:
      return {Phase::kFailed, kCoordinatorFailed, failure_message(*coordinator->pod)};
    case PodState::kPending:
    case PodState::kTerminating:
      return unchanged;
  }
  return unchanged;
}

}  // namespace nervex::controller
