#include "view/pod_problem.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "gang/outage_tolerations.h"

namespace nervex::view {
namespace {

using Code = PodProblem::Code;

std::optional<PodProblem> find_problem(const kube::Pod& pod,
                                       const kube::ContainerState& container) {
  const bool ended_badly = container.terminated && container.exit_code != 0;
  const bool waits_badly = !container.terminated && !container.reason.empty() &&
                           container.reason != "ContainerCreating" &&
                           container.reason != "PodInitializing";
  if (!ended_badly && !waits_badly) return std::nullopt;
  return PodProblem{.code = ended_badly ? Code::kContainerFailed : Code::kContainerWaiting,
                    .pod = pod.meta.name,
                    .reason = container.reason,
                    .message = container.message,
                    .exit_code = ended_badly ? container.exit_code : 0,
                    .restarts = container.restarts};
}

// A pod on an unavailable node is not Ready, as long as its template tolerates the outage.
std::optional<PodProblem> find_tolerated_outage(const kube::Pod& pod) {
  if (pod.ready || pod.phase != kube::PodPhase::kRunning) return std::nullopt;
  kube::Node node;
  node.is_unreachable = kube::annotation(pod.meta, gang::kToleratesNotReadyAnnotation).empty();
  const auto tolerated = gang::tolerated_outage(pod, node);
  if (!tolerated) return std::nullopt;
  return PodProblem{.code = Code::kNodeUnavailable,
                    .pod = pod.meta.name,
                    .node = pod.node,
                    .tolerated = *tolerated,
                    .is_unreachable = node.is_unreachable};
}

}  // namespace

std::string_view to_string(PodProblem::Code code) {
  switch (code) {
    case Code::kContainerFailed:
      return "ContainerFailed";
    case Code::kContainerWaiting:
      return "ContainerWaiting";
    case Code::kPodFailed:
      return "PodFailed";
    case Code::kNodeLost:
      return "NodeLost";
    case Code::kNodeUnavailable:
      return "NodeUnavailable";
    case Code::kUnschedulable:
      return "Unschedulable";
  }
  return "";
}

std::optional<PodProblem> find_problem(const kube::Pod& pod) {
  for (const auto& container : pod.containers) {
    if (auto problem = find_problem(pod, container)) return problem;
  }
  if (!pod.reason.empty() || pod.phase == kube::PodPhase::kFailed) {
    return PodProblem{.code = Code::kPodFailed,
                      .pod = pod.meta.name,
                      .reason = pod.reason.str(),
                      .message = pod.reason.empty() ? "" : pod.message};
  }
  if (!pod.node_lost.empty()) {
    return PodProblem{
        .code = Code::kNodeLost, .pod = pod.meta.name, .message = pod.node_lost, .node = pod.node};
  }
  if (auto problem = find_tolerated_outage(pod)) return problem;
  if (!pod.node.empty() || pod.unscheduled_message.empty()) return std::nullopt;
  return PodProblem{
      .code = Code::kUnschedulable, .pod = pod.meta.name, .message = pod.unscheduled_message};
}

std::string describe(const PodProblem& problem) {
  const auto with_message = [&](const std::string& text) {
    return problem.message.empty() ? text : text + ": " + problem.message;
  };
  switch (problem.code) {
    case Code::kContainerFailed:
    case Code::kContainerWaiting: {
      std::string text = problem.reason;
      if (problem.code == Code::kContainerFailed) {
        text += fmt::format("{}exit code {}", text.empty() ? "" : ", ", problem.exit_code);
      }
      if (problem.restarts > 0) text += fmt::format(", {} restarts", problem.restarts);
      return with_message(text);
    }
    case Code::kPodFailed:
      return problem.reason.empty() ? "failed" : with_message(problem.reason);
    case Code::kNodeLost:
      return fmt::format("its node {} is lost: {}", problem.node, problem.message);
    case Code::kNodeUnavailable:
      return fmt::format("not Ready; its template tolerates that node {} is {} {}", problem.node,
                         problem.is_unreachable ? "unreachable" : "not Ready",
                         problem.tolerated == std::chrono::seconds::max()
                             ? "without a limit"
                             : "for " + short_duration(problem.tolerated));
    case Code::kUnschedulable:
      return problem.message;
  }
  return "";
}

}  // namespace nervex::view
