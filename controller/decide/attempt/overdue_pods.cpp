#include "controller/decide/attempt/overdue_pods.h"

#include <fmt/format.h>

#include <algorithm>

namespace nervex::controller {

namespace {

using std::chrono::milliseconds;

// "finalizer a", or "finalizers a, b, c and more".
std::string name_finalizers(const kube::Pod& pod) {
  constexpr std::size_t kNamed = kube::kMaxFinalizers - 1;
  const auto& finalizers = pod.other_finalizers.items();
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, finalizers.size()); ++i) {
    names += (i == 0 ? "" : ", ") + finalizers[i];
  }
  if (finalizers.size() > kNamed) names += " and more";
  return fmt::format("finalizer{} {}", finalizers.size() == 1 ? "" : "s", names);
}

// The next pod of a worker's slot has another name, and waits for an unfinished pod only. That of
// the job's own aggregator has the same name.
bool blocks_successor(const AttemptPod& member, const WantedSlots& slots) {
  const WantedSlot* wanted = slots.find(member.role, member.slot.ordinal);
  if (wanted == nullptr || wanted->is_over) return false;
  const bool has_fixed_name = member.role == job::Role::kAggregator && member.slot.ordinal == 0;
  return has_fixed_name || !member.pod->is_finished();
}

// Without the sets that the gang does without for a while.
bool is_in_gang(const AttemptPod& member, const gang::PodGroup& group, std::string_view name) {
  const gang::Gang* gang = gang::find_gang(group.spec, name);
  if (gang == nullptr) return false;
  return std::any_of(gang->members.begin(), gang->members.end(), [&](const auto& set) {
    return !set.heals_alone && set.role == to_string(member.role) &&
           std::any_of(set.slots.begin(), set.slots.end(), [&](const gang::SlotId slot) {
             return slot.ordinal == member.slot.ordinal;
           });
  });
}

std::string describe(const AttemptPod* member) {
  if (member == nullptr) return "";
  const kube::Pod& pod = *member->pod;
  const std::string node = pod.node.empty() ? "" : fmt::format(" on node {}", pod.node);
  return fmt::format("pod {}{} should have ended at {} and still exists: {}", pod.meta.name, node,
                     to_rfc3339(pod.deletion_timestamp), describe_keeper(pod));
}

template <typename Wanted>
const AttemptPod* find_overdue(const Round& round, const Wanted& is_wanted) {
  const AttemptPod* first = nullptr;
  for (const AttemptPod& member : round.attempt.pods) {
    if (!is_overdue(*member.pod, round.seen.now)) continue;
    if (first != nullptr && first->pod->meta.name < member.pod->meta.name) continue;
    if (blocks_successor(member, round.slots) && is_wanted(member)) first = &member;
  }
  return first;
}

}  // namespace

bool is_terminating(const kube::Pod& pod) {
  return pod.meta.deleting && pod.deletion_timestamp != SysTime{};
}

bool is_overdue(const kube::Pod& pod, SysTime now) {
  return is_terminating(pod) && now >= pod.deletion_timestamp + kOverdue;
}

// A pod that has finished, or was deleted without a grace period, waits for nothing but its
// finalizers: its kubelet has confirmed its end, or is not asked.
std::string describe_keeper(const kube::Pod& pod) {
  const std::string& name = pod.meta.name;
  const std::string& ns = pod.meta.ns.str();
  if (pod.other_finalizers.empty()) {
    return fmt::format(
        "its node does not respond or cannot stop its containers: kubectl describe pod -n {} {}",
        ns, name);
  }
  const bool may_be_node = !pod.is_finished() && !pod.deleted_at_once;
  const bool is_one = pod.other_finalizers.size() == 1;
  return fmt::format(
      "{} keep{} it{}: remove finalizers whose owner no longer exists with kubectl edit pod -n {} "
      "{}{}",
      name_finalizers(pod), is_one ? "s" : "", may_be_node ? ", or its node does not respond" : "",
      ns, name, may_be_node ? ", or delete the node if it is out of order" : "");
}

std::string describe_overdue_pod(const Round& round) {
  return describe(find_overdue(round, [](const AttemptPod&) { return true; }));
}

std::string describe_overdue_pod(const Round& round, std::string_view gang) {
  return describe(find_overdue(round, [&](const AttemptPod& member) {
    return is_in_gang(member, *round.attempt.group, gang);
  }));
}

std::optional<milliseconds> time_until_overdue(const Round& round) {
  std::optional<milliseconds> first;
  for (const AttemptPod& member : round.attempt.pods) {
    if (!is_terminating(*member.pod) || is_overdue(*member.pod, round.seen.now)) continue;
    const milliseconds left =
        std::chrono::ceil<milliseconds>(member.pod->deletion_timestamp + kOverdue - round.seen.now);
    if (!first || left < *first) first = left;
  }
  return first;
}

}  // namespace nervex::controller
