#include "controller/decide/objects/cleanup.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/decide/attempt/limits.h"
#include "controller/decide/reasons.h"
#include "gang/slot.h"
#include "job/counts.h"
#include "job/names.h"

namespace nervex::controller {

namespace {

// Sidecars that end by themselves have time for it: the pod, and with it the logs, then stays.
constexpr std::chrono::seconds kSidecarGrace{60};

std::optional<SysTime> earlier(std::optional<SysTime> a, std::optional<SysTime> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// When the queue ends a pod that no gang accounts for any more: at once if it is drained, else
// after the queue's maxRuntimeSeconds. nullopt: it does not.
std::optional<SysTime> queue_end(const kube::Pod& pod, const queue::QueueTree* queues) {
  const std::string& name = kube::annotation(pod.meta, gang::kQueueAnnotation);
  const auto queue = queues == nullptr || name.empty() ? std::nullopt : queues->find(name);
  if (!queue) return std::nullopt;
  if (queues->is_drained(*queue)) return SysTime{};
  const auto most = queues->max_runtime_seconds(*queue);
  if (!most) return std::nullopt;
  return pod.meta.created + std::chrono::seconds(*most);
}

// When the pod goes; nullopt: it stays.
std::optional<SysTime> deletion_time(const kube::Pod& pod, const Observed& seen) {
  const job::Job& job = seen.job;
  const SysTime now{};  // the epoch: due at any time
  if (job.spec.clean_pod_policy == job::CleanPodPolicy::kAll) return now;
  if (pod.is_finished()) return std::nullopt;
  // A limit must free the capacity, also if it passes after the job has ended.
  if (job.status.reason == kDeadlineExceeded || job.status.reason == kScheduleTimeout) return now;
  if (job.spec.clean_pod_policy == job::CleanPodPolicy::kNone) {
    return earlier(deadline_after_end(job), queue_end(pod, seen.queues.get()));
  }
  const job::PodState state = job::pod_state(pod);
  if (state == job::PodState::kPending || state == job::PodState::kRunning) return now;
  // The main container has ended, and a sidecar keeps the pod's capacity.
  return job.status.completion_time.value_or(now) + kSidecarGrace;
}

template <typename T>
Target make_target(const T& object) {
  return {object.meta.name, object.meta.uid};
}

template <typename T>
std::vector<Target> living(const Ptrs<T>& objects) {
  std::vector<Target> targets;
  for (const auto& object : objects) {
    if (!object->meta.deleting) targets.push_back(make_target(*object));
  }
  return targets;
}

// The same, in the versions that were seen.
template <typename T>
std::vector<Target> living_as_seen(const Ptrs<T>& objects) {
  std::vector<Target> targets;
  for (const auto& object : objects) {
    if (object->meta.deleting) continue;
    targets.push_back(make_target(*object));
    targets.back().resource_version = object->meta.resource_version;
  }
  return targets;
}

// The pod is being deleted with a longer grace period than `most`, more than `most` of it is left,
// and a kubelet ends it: a user may set years. Zero: no limit.
bool ends_too_late(const kube::Pod& pod, SysTime now, std::chrono::seconds most) {
  const bool is_ending = pod.meta.deleting && !pod.is_finished() && pod.node_lost.empty();
  if (most.count() == 0 || !is_ending || pod.deletion_grace_seconds <= most.count()) return false;
  const bool is_without_end = pod.deletion_grace_seconds == kube::kMaxGraceSeconds;
  return is_without_end || pod.deletion_timestamp > now + most;
}

Target with_grace(const kube::Pod& pod, std::chrono::seconds grace) {
  return {pod.meta.name, pod.meta.uid, false, {}, grace};
}

// The pod, which has to end, is deleted with its own grace period, and one that a user deletes with
// a longer one gets that, too. nullopt: it is being deleted, and ends in time.
std::optional<Target> end_target(const kube::Pod& pod, SysTime now, std::chrono::seconds most) {
  if (!pod.meta.deleting) return pod_target(pod);
  // Without a second the pod would be removed before its kubelet has ended it.
  const std::chrono::seconds own{std::max(pod.own_grace_seconds, 1)};
  const std::chrono::seconds grace = std::min(own, most);
  return ends_too_late(pod, now, grace) ? std::optional(with_grace(pod, grace)) : std::nullopt;
}

std::optional<Target> end_target(const kube::Pod& pod, const Observed& seen) {
  return end_target(pod, seen.now, seen.max_termination_grace);
}

}  // namespace

Target pod_target(const kube::Pod& pod) {
  return {pod.meta.name, pod.meta.uid, !pod.node_lost.empty()};
}

Actions delete_stuck_pods(const Observed& seen) {
  DeletePods stuck;
  for (const auto& pod : seen.pods) {
    const bool is_stuck = pod->meta.deleting && !pod->deleted_at_once && !pod->node_lost.empty();
    if (is_stuck) stuck.targets.push_back(pod_target(*pod));
    const std::chrono::seconds most = seen.max_termination_grace;
    if (ends_too_late(*pod, seen.now, most)) stuck.targets.push_back(with_grace(*pod, most));
  }
  return stuck.targets.empty() ? Actions{} : Actions{std::move(stuck)};
}

Actions clean_up(const Observed& seen) {
  Actions actions = delete_stuck_pods(seen);
  std::vector<Target> groups = living(seen.pod_groups);
  if (!groups.empty()) actions.push_back(DeletePodGroups{std::move(groups)});

  std::vector<Target> pods;
  for (const auto& pod : seen.pods) {
    const auto due = deletion_time(*pod, seen);
    if (!due || *due > seen.now) continue;
    if (auto target = end_target(*pod, seen)) pods.push_back(*std::move(target));
  }
  std::vector<Target> released = pods_to_release_at_end(seen, pods);
  const std::size_t count = pods.size();
  if (!released.empty()) actions.push_back(ReleasePods{std::move(released)});
  if (count > 0) actions.push_back(DeletePods{std::move(pods)});

  std::vector<Target> services = living(seen.services);
  if (!services.empty()) actions.push_back(DeleteServices{std::move(services)});
  if (count > 0) {
    actions.push_back(normal_event(
        kSuccessfulDelete,
        fmt::format("deleted {} {} of the ended job", count, count == 1 ? "pod" : "pods")));
  }
  return actions;
}

std::optional<SysTime> next_clean_up(const Observed& seen) {
  std::optional<SysTime> next;
  for (const auto& pod : seen.pods) {
    const auto due = end_target(*pod, seen) ? deletion_time(*pod, seen) : std::nullopt;
    if (due && *due > seen.now) next = earlier(next, due);
  }
  return next;
}

Actions clean_up_deleted(const Observed& seen) {
  Actions actions;
  if (seen.job.meta.orphans_its_own) return actions;
  std::vector<Target> groups = living_as_seen(seen.pod_groups);
  if (!groups.empty()) actions.push_back(DeletePodGroups{std::move(groups)});

  std::vector<Target> pods;
  for (const auto& pod : seen.pods) {
    auto target = pod->is_finished() ? std::nullopt : end_target(*pod, seen);
    if (!target) continue;
    target->resource_version = pod->meta.resource_version;
    pods.push_back(*std::move(target));
  }
  const std::size_t count = pods.size();
  if (count > 0) actions.push_back(DeletePods{std::move(pods)});

  std::vector<Target> services = living_as_seen(seen.services);
  if (!services.empty()) actions.push_back(DeleteServices{std::move(services)});
  if (count > 0) {
    actions.push_back(normal_event(
        kSuccessfulDelete, fmt::format("deleted {} {} of the job, which is being deleted", count,
                                       count == 1 ? "pod" : "pods")));
  }
  return actions;
}

namespace {

bool is_stale(const kube::Pod& pod, const Attempt& attempt) {
  return attempt.group == nullptr || !is_of_group(pod, *attempt.group);
}

bool is_stale(const gang::PodGroup& group, const Attempt& attempt) {
  return attempt.group == nullptr || group.meta.uid != attempt.group->meta.uid;
}

std::vector<Target> stale_pods(const Round& round) {
  std::vector<Target> targets;
  for (const auto& pod : round.seen.pods) {
    auto target = is_stale(*pod, round.attempt) ? end_target(*pod, round.seen) : std::nullopt;
    if (target) targets.push_back(*std::move(target));
  }
  return targets;
}

std::vector<Target> stale_groups(const Round& round) {
  std::vector<Target> targets;
  for (const auto& group : round.seen.pod_groups) {
    if (group->meta.deleting || !is_stale(*group, round.attempt)) continue;
    targets.push_back(make_target(*group));
  }
  return targets;
}

std::string deleted_text(std::size_t count) {
  return fmt::format("deleted {} {} of an earlier attempt", count, count == 1 ? "pod" : "pods");
}

}  // namespace

Actions delete_stale_objects(const Round& round) {
  Actions actions;
  std::vector<Target> pods = stale_pods(round);
  const std::size_t count = pods.size();
  if (count > 0) actions.push_back(DeletePods{std::move(pods)});
  if (round.attempt.group == nullptr) {
    std::vector<Target> services = living(round.seen.services);
    if (!services.empty()) actions.push_back(DeleteServices{std::move(services)});
  }
  std::vector<Target> groups = stale_groups(round);
  if (!groups.empty()) actions.push_back(DeletePodGroups{std::move(groups)});
  if (count > 0) actions.push_back(normal_event(kSuccessfulDelete, deleted_text(count)));
  return actions;
}

namespace {

template <typename Matches>
std::vector<Target> tracked(const Ptrs<kube::Pod>& pods, Matches matches) {
  std::vector<Target> targets;
  for (const auto& pod : pods) {
    if (pod->has_finalizer && matches(*pod)) targets.push_back({pod->meta.name, pod->meta.uid});
  }
  return targets;
}

// The rounds of that job decide about the pod.
bool is_of_job(const kube::Pod& pod, const PodsOfKey& of) {
  const std::string owner = owner_job_uid(pod.meta);
  return !owner.empty() && owner == of.job_uid;
}

bool is_among(const kube::Pod& pod, const std::vector<Target>& targets) {
  return std::any_of(targets.begin(), targets.end(),
                     [&](const Target& target) { return target.uid == pod.meta.uid; });
}

}  // namespace

std::vector<Target> pods_to_release(const Observed& seen) {
  return tracked(seen.pods, [](const kube::Pod& pod) { return pod.meta.deleting; });
}

std::vector<Target> pods_to_release_at_end(const Observed& seen,
                                           const std::vector<Target>& to_delete) {
  return tracked(seen.pods, [&](const kube::Pod& pod) {
    return pod.meta.deleting || !is_among(pod, to_delete);
  });
}

std::vector<Target> orphans_to_release(const PodsOfKey& of) {
  return tracked(of.pods, [&](const kube::Pod& pod) {
    const std::string owner = owner_job_uid(pod.meta);
    return owner.empty() || (pod.meta.deleting && owner != of.job_uid);
  });
}

std::vector<Target> orphans_to_shorten(const PodsOfKey& of) {
  std::vector<Target> targets;
  for (const auto& pod : of.pods) {
    if (is_of_job(*pod, of) || !ends_too_late(*pod, of.now, of.max_grace)) continue;
    targets.push_back(with_grace(*pod, of.max_grace));
  }
  return targets;
}

OrphansToEnd orphans_to_end(const PodsOfKey& of, const queue::QueueTree* queues) {
  OrphansToEnd end;
  for (const auto& pod : of.pods) {
    const bool has_owner = !owner_job_uid(pod->meta).empty();
    const bool ends_itself = has_owner && !pod->meta.deleting;
    if (is_of_job(*pod, of) || ends_itself || pod->is_finished()) continue;
    auto target = end_target(*pod, of.now, of.max_grace);
    if (!target) continue;
    const auto due = queue_end(*pod, queues);
    if (due && *due <= of.now) {
      end.due.push_back(*std::move(target));
    } else {
      end.next = earlier(end.next, due);
    }
  }
  return end;
}

std::vector<Target> orphaned_groups(const Ptrs<gang::PodGroup>& groups) {
  std::vector<Target> targets;
  for (const auto& group : groups) {
    const kube::Meta& meta = group->meta;
    const bool is_ours = kube::label(meta, job::kControllerLabel) == job::kControllerLabelValue;
    if (!is_ours || meta.deleting) continue;
    targets.push_back({meta.name, meta.uid, false, meta.resource_version});
  }
  return targets;
}

}  // namespace nervex::controller
