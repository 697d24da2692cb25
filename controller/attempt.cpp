#include "controller/attempt.h"

#include <algorithm>

#include "controller/desired_pod_group.h"
#include "controller/reasons.h"

namespace nervex::controller {
namespace {

bool has_aggregator_set(const gang::PodGroup& group) {
  return std::any_of(group.spec.members.begin(), group.spec.members.end(), [](const auto& set) {
    return set.gang == gang::kBaseGang && set.role == to_string(job::Role::kAggregator);
  });
}

void find_group(const Observed& seen, Attempt& attempt) {
  const std::string name = job::pod_group_name(seen.job, seen.job.status.attempt);
  for (const auto& group : seen.pod_groups) {
    if (group->meta.name != name) continue;
    attempt.name_is_held = group->meta.deleting;
    if (!group->meta.deleting) attempt.group = group.get();
  }
}

void find_pods(const Observed& seen, Attempt& attempt) {
  for (const auto& pod : seen.pods) {
    const auto slot = gang::slot_of(*pod);
    if (!slot || slot->pod_group_uid != attempt.group->meta.uid) continue;
    const auto role = job::parse_role(slot->role);
    if (!role) continue;
    attempt.pods.push_back(
        {pod.get(), *role, job_slot(slot->slot), slot->placement, job::state_of(*pod)});
  }
}

}  // namespace

Attempt current_attempt(const Observed& seen) {
  Attempt attempt;
  find_group(seen, attempt);
  if (attempt.group == nullptr) {
    attempt.has_aggregator = wants_aggregator(seen.job.spec, seen.aggregator_config != nullptr);
    return attempt;
  }
  find_pods(seen, attempt);
  // Its pod bears witness, too, should somebody take the set out of the PodGroup.
  attempt.has_aggregator = has_aggregator_set(*attempt.group) || has_aggregator_pod(attempt, 0);
  return attempt;
}

bool has_aggregator_pod(const Attempt& attempt, int ordinal) {
  return std::any_of(attempt.pods.begin(), attempt.pods.end(), [&](const AttemptPod& of) {
    return of.role == job::Role::kAggregator && of.slot.ordinal == ordinal;
  });
}

const AttemptPod* coordinator_of(const Attempt& attempt) {
  const auto at = std::find_if(attempt.pods.begin(), attempt.pods.end(), [](const AttemptPod& p) {
    return p.role == job::Role::kCoordinator;
  });
  return at == attempt.pods.end() ? nullptr : &*at;
}

job::PodContext pod_context(const Observed& seen, const Attempt& attempt) {
  return {.server_url = seen.server_url,
          .server_token = seen.server_token,
          .has_aggregator = attempt.has_aggregator,
          .aggregator_template =
              seen.aggregator_config ? seen.aggregator_config->pod_template : kube::SharedJson()};
}

SysTime place_in_queue(const job::Job& job) {
  const SysTime now_queued = job.status.queued_time.value_or(job.meta.created);
  SysTime first{};
  for (const auto type : {kCreated, kSuspended}) {
    const auto* condition = find_condition(job.status, type);
    if (condition != nullptr) first = std::max(first, condition->last_transition);
  }
  // In fractions of a second where they are known: they decide between jobs made at once.
  const bool is_first = now_queued - first < std::chrono::seconds(1);
  return is_first || first == SysTime{} ? now_queued : first;
}

bool is_of_group(const kube::Pod& pod, const gang::PodGroup& group) {
  return kube::annotation(pod.meta, gang::kPodGroupUidAnnotation) == group.meta.uid;
}

}  // namespace nervex::controller
