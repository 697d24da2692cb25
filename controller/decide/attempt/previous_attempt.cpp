#include "controller/decide/attempt/previous_attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "controller/decide/attempt/overdue_pods.h"
#include "controller/decide/round/attempt.h"
#include "gang/slot.h"
#include "job/names.h"

namespace nervex::controller {

namespace {

using job::Role;
using std::chrono::seconds;

// A plan that waits for less than this keeps its capacity.
constexpr seconds kShortTermination{60};

// What the attempt begins with: what is requested comes later, and under ordinals of its own.
struct FirstPods {
  std::set<std::string> names;
  std::set<std::pair<Role, int>> slots;
};

FirstPods first_pods(const Round& round) {
  FirstPods first;
  for (const auto& slot : round.slots.all()) {
    if (slot.entry() != nullptr) continue;
    first.names.insert(job::pod_name(round.job, slot.role, slot.slot));
    first.slots.emplace(slot.role, slot.slot.ordinal);
  }
  return first;
}

bool holds_one(const kube::Pod& pod, const FirstPods& first) {
  if (first.names.count(pod.meta.name) != 0) return true;
  const auto slot = gang::pod_slot(pod);
  const auto role = slot ? job::parse_role(slot->role) : std::nullopt;
  return role && !pod.is_finished() && first.slots.count({*role, slot->slot.ordinal}) != 0;
}

std::vector<const kube::Pod*> earlier_pods(const Round& round) {
  std::vector<const kube::Pod*> found;
  const auto* group = round.attempt.group;
  for (const auto& pod : round.seen.pods) {
    if (group == nullptr || !is_of_group(*pod, *group)) found.push_back(pod.get());
  }
  if (found.empty()) return found;  // as nearly always
  const FirstPods first = first_pods(round);
  std::erase_if(found, [&](const kube::Pod* pod) { return !holds_one(*pod, first); });
  return found;
}

// Of a pod that was asked to go.
bool will_stay(const kube::Pod& pod, SysTime now) {
  if (!is_terminating(pod)) return false;
  return is_overdue(pod, now) || pod.deletion_timestamp > now + kShortTermination;
}

const kube::Pod* pod_that_stays(const Round& round) {
  for (const kube::Pod* pod : earlier_pods(round)) {
    if (will_stay(*pod, round.seen.now)) return pod;
  }
  return nullptr;
}

}  // namespace

const kube::Pod* pod_in_the_way(const Round& round) {
  for (const kube::Pod* pod : earlier_pods(round)) {
    if (!pod->meta.deleting || will_stay(*pod, round.seen.now)) return pod;
  }
  return nullptr;
}

namespace {

// `whose` pod it is, and what `starts` when it is gone.
std::string terminating(const kube::Pod& pod, std::string_view whose, std::string_view starts,
                        SysTime now) {
  const auto& [ns, name] = std::tie(pod.meta.ns, pod.meta.name);
  const std::string until = to_rfc3339(pod.deletion_timestamp);
  if (!is_overdue(pod, now)) {
    return fmt::format(
        "pod {} of {} is terminating until {}: {} starts when it is deleted; to delete it now: "
        "kubectl delete pod -n {} {} --now",
        name, whose, until, starts, ns, name);
  }
  const std::string node = pod.node.empty() ? "" : fmt::format(" on node {}", pod.node);
  return fmt::format(
      "pod {} of {} should have ended at {} and still exists{}: {} starts when it is deleted; {}",
      name, whose, until, node, starts, describe_keeper(pod));
}

}  // namespace

std::string previous_attempt_terminating(const Round& round) {
  const kube::Pod* pod = pod_that_stays(round);
  if (pod == nullptr) return "";
  return terminating(*pod, "an earlier attempt",
                     fmt::format("attempt {}", round.job.status.attempt), round.seen.now);
}

std::string previous_job_terminating(const Observed& seen) {
  constexpr std::string_view kWhose = "the deleted job of the same name";
  const auto& [object, pod] = seen.predecessor;
  if (pod != nullptr && is_terminating(*pod))
    return terminating(*pod, kWhose, "this job", seen.now);
  return fmt::format("{} of {} still exists: this job starts when it is deleted", object, kWhose);
}

bool is_made_in_vain(const Round& round) {
  if (round.attempt.group == nullptr || round.job.status.phase != job::Phase::kCreated) {
    return false;
  }
  const auto* base = gang::find_gang(round.attempt.group->status, gang::kBaseGang);
  if (base != nullptr && base->committed) return false;
  const auto& pods = round.attempt.pods;
  const bool any_bound = std::any_of(pods.begin(), pods.end(), [](const AttemptPod& member) {
    return !member.pod->node.empty() || member.pod->is_finished();
  });
  return !any_bound && pod_that_stays(round) != nullptr;
}

std::optional<std::chrono::milliseconds> time_until_in_the_way(const Round& round) {
  std::optional<std::chrono::milliseconds> first;
  if (round.job.status.phase != job::Phase::kCreated) return first;
  std::vector<const kube::Pod*> pods = earlier_pods(round);
  if (round.seen.predecessor.pod != nullptr) pods.push_back(round.seen.predecessor.pod.get());
  for (const kube::Pod* pod : pods) {
    if (!is_terminating(*pod)) continue;
    for (const SysTime change :
         {pod->deletion_timestamp - kShortTermination, pod->deletion_timestamp + kOverdue}) {
      if (change <= round.seen.now) continue;
      const std::chrono::milliseconds left =
          std::chrono::ceil<std::chrono::milliseconds>(change - round.seen.now);
      if (!first || left < *first) first = left;
    }
  }
  return first;
}

}  // namespace nervex::controller
