#include "controller/decide/attempt/pod_problems.h"

#include <fmt/format.h>

#include <utility>

namespace nervex::controller {

namespace {

using std::chrono::seconds;

// A pod that has a place is bound within this time, unless the scheduler has objections of its own
// (volumes, or a node that is gone). Before that its objections are only signs of caches catching
// up.
constexpr seconds kBindingTime{10};

bool waits_for_binding(const kube::Pod& pod) {
  return pod.node.empty() && !pod.is_finished() && !pod.meta.deleting;
}

bool is_unschedulable(const Observed& seen, const kube::Pod& pod) {
  const bool is_late = seen.now - pod.meta.created >= kBindingTime;
  return waits_for_binding(pod) && is_late && !pod.unscheduled_message.empty();
}

// CrashLoopBackOff comes and goes with each start: one that is not ready between two crashes
// counts.
bool is_crash_looping(const kube::ContainerState& container) {
  constexpr int kAgainAndAgain = 2;
  return container.reason == "CrashLoopBackOff" ||
         (!container.ready && container.restarts >= kAgainAndAgain);
}

// Why the kubelet cannot start this container, "" if it can, or that is not known. Only problems
// that a user must fix, in words that stay while the kubelet tries again: its own take turns
// (ErrImagePull, ImagePullBackOff), and each change is a write.
std::string unstartable(const kube::ContainerState& container, std::string_view pod) {
  const std::string& why = container.reason;
  if (container.terminated) return "";
  if (is_crash_looping(container)) {
    return fmt::format("container {} of pod {} crashes repeatedly, last with exit code {}",
                       container.name, pod, container.exit_code);
  }
  if (why == "ErrImagePull" || why == "ImagePullBackOff") {
    return fmt::format("the image of pod {} cannot be pulled", pod);
  }
  if (why == "InvalidImageName") return fmt::format("the image name of pod {} is invalid", pod);
  if (why == "ErrImageNeverPull") {
    return fmt::format(
        "the image of pod {} is not present on its node, and imagePullPolicy is Never", pod);
  }
  if (why == "CreateContainerConfigError") {
    return fmt::format("pod {} refers to a ConfigMap, a Secret or a key that does not exist", pod);
  }
  return "";
}

}  // namespace

std::string cannot_start(const Attempt& attempt) {
  const kube::Pod* first = nullptr;
  std::string found;
  for (const AttemptPod& member : attempt.pods) {
    if (first != nullptr && first->meta.name < member.pod->meta.name) continue;
    for (const auto& container : member.pod->containers) {
      std::string why = unstartable(container, member.pod->meta.name);
      if (why.empty()) continue;
      first = member.pod;
      found = std::move(why);
      break;
    }
  }
  return found;
}

std::vector<const AttemptPod*> unschedulable_pods(const Round& round) {
  std::vector<const AttemptPod*> found;
  for (const AttemptPod& member : round.attempt.pods) {
    if (is_unschedulable(round.seen, *member.pod)) found.push_back(&member);
  }
  return found;
}

std::string describe_unschedulable(const std::vector<const AttemptPod*>& unschedulable,
                                   const gang::PodGroup& group, std::string_view gang) {
  const AttemptPod* first = nullptr;
  for (const AttemptPod* member : unschedulable) {
    const bool is_better = first == nullptr || member->role == job::Role::kCoordinator;
    if (is_better && is_of_gang(*member, group, gang)) first = member;
  }
  if (first == nullptr) return "";
  return fmt::format("pod {}: {}", first->pod->meta.name, first->pod->unscheduled_message);
}

std::optional<std::chrono::milliseconds> time_until_late(const Round& round) {
  std::optional<std::chrono::milliseconds> first;
  for (const AttemptPod& member : round.attempt.pods) {
    if (!waits_for_binding(*member.pod)) continue;
    const auto left =
        std::chrono::ceil<seconds>(member.pod->meta.created + kBindingTime - round.seen.now);
    if (left > seconds::zero() && (!first || left < *first)) first = left;
  }
  return first;
}

}  // namespace nervex::controller
