#include "cli/pod_problems.h"

#include <fmt/format.h>

namespace nervex::cli {
namespace {

constexpr std::size_t kShown = 8;

// "Error, exit code 1: what it said last"; "" if the container is well.
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
    if (const std::string text = problem_of(container); !text.empty()) return text;
  }
  if (!pod.reason.empty()) {
    return pod.message.empty() ? pod.reason.str() : pod.reason + ": " + pod.message;
  }
  if (pod.phase == kube::PodPhase::kFailed) return "failed";
  return pod.node.empty() ? pod.unscheduled_message : "";
}

}  // namespace

Rows problem_rows(const JobView& view) {
  Rows rows;
  std::size_t more = 0;
  for (const auto& pod : view.pods) {
    const std::string text = problem_of(pod);
    if (text.empty()) continue;
    if (rows.size() == kShown) {
      ++more;
    } else {
      rows.push_back({printable(pod.meta.name), printable(text)});
    }
  }
  if (more > 0) rows.push_back({fmt::format("and {} more", more)});
  return rows;
}

}  // namespace nervex::cli
