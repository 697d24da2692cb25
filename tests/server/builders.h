// tests/server/builders.h - a running job with its attempt and its pods, as the server sees them.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "gang/slot.h"
#include "job/names.h"
#include "server/decide/caller.h"
#include "server/decide/listing.h"
#include "tests/support/job_builders.h"

namespace nervex::server {

inline constexpr const char* kGroupUid = "uid-dqn-1";  // of the PodGroup of attempt 1

inline const SysTime kPostTime = *parse_rfc3339("2026-11-21T10:00:05.250Z");

// rl/dqn in attempt 1, Running, with templates for both roles and that many base replicas.
inline job::Job running_job(int collectors = 0, int learners = 0) {
  job::Job job = testing::a_job(collectors, learners);
  job.status.phase = job::Phase::kRunning;
  job.status.attempt = 1;
  return job;
}

inline gang::PodGroup make_pod_group(const job::Job& job) {
  gang::PodGroup group;
  group.meta.ns = job.meta.ns;
  group.meta.name = job::pod_group_name(job, job.status.attempt);
  group.meta.uid = kGroupUid;
  group.spec.attempt = job.status.attempt;
  return group;
}

inline constexpr std::int64_t kPlacement = 1;  // of every pod below

// A running pod of the job in the attempt with that PodGroup UID.
inline kube::Pod running_pod(const job::Job& job, job::Role role, job::Slot slot = {},
                             const std::string& group_uid = kGroupUid) {
  kube::Pod pod;
  pod.meta.ns = job.meta.ns;
  pod.meta.name = job::pod_name(job, role, slot);
  pod.meta.uid = "uid-" + pod.meta.name;
  pod.meta.owner = kube::OwnerRef{std::string(job::kApiVersion), std::string(job::kKind),
                                  job.meta.name, job.meta.uid};
  pod.meta.labels[std::string(job::kRoleLabel)] = to_string(role);
  const gang::SlotId id{slot.ordinal, slot.incarnation};
  for (const auto& [key, value] :
       gang::annotations_for({group_uid, std::string(to_string(role)), id, kPlacement})) {
    pod.meta.annotations[key] = value;
  }
  pod.phase = kube::PodPhase::kRunning;
  return pod;
}

template <typename T>
std::shared_ptr<const T> share(T value) {
  return std::make_shared<const T>(std::move(value));
}

inline PodPtr shared_pod(const job::Job& job, job::Role role, job::Slot slot = {}) {
  return share(running_pod(job, role, slot));
}

}  // namespace nervex::server
