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

// Clocks differ, and deletionTimestamp has whole seconds.
constexpr std::chrono::seconds kClockDifference{60};

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

Target make_target(const kube::Pod& pod) { return pod_target(pod); }
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

// The pod is being deleted with a longer grace period than `most`: a user may set years. Zero: no
// limit.
bool ends_too_late(const kube::Pod& pod, SysTime now, std::chrono::seconds most) {
  const bool is_ending = pod.meta.deleting && !pod.is_finished() && pod.node_lost.empty();
  return most.count() > 0 && is_ending && pod.deletion_timestamp > now + most + kClockDifference;
}

Target with_grace(const kube::Pod& pod, std::chrono::seconds grace) {
  return {pod.meta.name, pod.meta.uid, false, {}, grace};
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
    if (pod->meta.deleting) continue;
    const auto due = deletion_time(*pod, seen);
    if (due && *due <= seen.now) pods.push_back(pod_target(*pod));
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
    const auto due = pod->meta.deleting ? std::nullopt : deletion_time(*pod, seen);
    if (due && *due > seen.now) next = earlier(next, due);
  }
  return next;
}

Actions clean_up_deleted(const Observed& seen) {
  Actions actions;
  if (seen.job.meta.orphans_its_own) return actions;
  std::vector<Target> groups = living_as_seen(seen.pod_groups);
  if (!groups.empty()) actions.push_back(DeletePodGroups{std::move(groups)});

  Ptrs<kube::Pod> unfinished = seen.pods;
  std::erase_if(unfinished, [](const auto& pod) { return pod->is_finished(); });
  std::vector<Target> pods = living_as_seen(unfinished);
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

template <typename T>
std::vector<Target> stale_among(const Ptrs<T>& objects, const Attempt& attempt) {
  std::vector<Target> targets;
  for (const auto& object : objects) {
    if (object->meta.deleting || !is_stale(*object, attempt)) continue;
    targets.push_back(make_target(*object));
  }
  return targets;
}

std::string deleted_text(std::size_t count) {
  return fmt::format("deleted {} {} of an earlier attempt", count, count == 1 ? "pod" : "pods");
}

}  // namespace

Actions delete_stale_objects(const Round& round) {
  Actions actions;
  std::vector<Target> pods = stale_among(round.seen.pods, round.attempt);
  const std::size_t count = pods.size();
  if (count > 0) actions.push_back(DeletePods{std::move(pods)});
  if (round.attempt.group == nullptr) {
    std::vector<Target> services = living(round.seen.services);
    if (!services.empty()) actions.push_back(DeleteServices{std::move(services)});
  }
  std::vector<Target> groups = stale_among(round.seen.pod_groups, round.attempt);
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

std::vector<Target> orphans_to_release(const Ptrs<kube::Pod>& pods, const std::string& job_uid) {
  return tracked(pods, [&](const kube::Pod& pod) {
    const std::string owner = owner_job_uid(pod.meta);
    return owner.empty() || (pod.meta.deleting && owner != job_uid);
  });
}

std::vector<Target> orphans_to_shorten(const Ptrs<kube::Pod>& pods, const std::string& job_uid,
                                       SysTime now, std::chrono::seconds most) {
  std::vector<Target> targets;
  for (const auto& pod : pods) {
    if (owner_job_uid(pod->meta) == job_uid || !ends_too_late(*pod, now, most)) continue;
    targets.push_back(with_grace(*pod, most));
  }
  return targets;
}

OrphansToEnd orphans_to_end(const Ptrs<kube::Pod>& pods, const queue::QueueTree* queues,
                            SysTime now) {
  OrphansToEnd end;
  for (const auto& pod : pods) {
    const bool is_orphan = owner_job_uid(pod->meta).empty();
    if (!is_orphan || pod->is_finished() || pod->meta.deleting) continue;
    const auto due = queue_end(*pod, queues);
    if (due && *due <= now) {
      end.due.push_back(pod_target(*pod));
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
