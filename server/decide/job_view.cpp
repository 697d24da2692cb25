#include "server/decide/job_view.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "gang/slot.h"
#include "job/counts.h"
#include "job/names.h"
#include "kube/model/disruption.h"
#include "server/decide/caller.h"

namespace nervex::server {
namespace {

using job::Role;
using EndedSlot = std::tuple<std::string_view, int, int>;  // role, ordinal, incarnation

// Ended by itself. A pod that the cluster stopped is replaced, so it counts as living.
bool has_finished(const kube::Pod& pod) {
  return has_ended(job::pod_state(pod)) && !kube::was_taken_away(pod);
}

// From the status, plus what the controller will add when it has seen the same pods.
std::set<EndedSlot> ended_slots(const JobView& view) {
  std::set<EndedSlot> ended;
  for (const auto& one : view.job.status.ended) {
    ended.emplace(to_string(one.role), one.slot.ordinal, one.slot.incarnation);
  }
  for (const auto& pod : view.pods) {
    const auto slot = gang::pod_slot(*pod);
    const auto role = slot ? job::parse_role(slot->role) : std::nullopt;
    const bool is_current = view.group == nullptr || attempt_uid(*pod) == view.group->meta.uid;
    if (role && is_current && has_finished(*pod)) {
      ended.emplace(to_string(*role), slot->slot.ordinal, slot->slot.incarnation);
    }
  }
  return ended;
}

std::vector<job::Replica> replicas_that_have(bool ended, const JobView& view, Role role) {
  const std::set<EndedSlot> slots = ended_slots(view);
  const auto is_ended = [&slots](Role replica_role, job::Slot slot) {
    return slots.count({to_string(replica_role), slot.ordinal, slot.incarnation}) > 0;
  };
  std::vector<job::Replica> replicas = job::wanted_replicas(view.job, role);
  std::erase_if(replicas, [&](const job::Replica& replica) {
    const job::ReplicaPod addressed = addressed_pod(replica);
    // The status may record a multi-GPU learner as a learner.
    return ended !=
           (is_ended(addressed.role, addressed.slot) || is_ended(replica.role, replica.slot));
  });
  return replicas;
}

}  // namespace

job::ReplicaPod addressed_pod(const job::Replica& replica) {
  return job::replica_pods(replica).front();
}

void add_address(Listing& listing, const job::Job& job, Role role, job::Slot slot,
                 int aggregator_port) {
  auto& urls = role == Role::kCollector ? listing.collectors : listing.learners;
  urls.push_back(replica_address(job, role, job::pod_name(job, role, slot), aggregator_port));
}

std::vector<job::Replica> living_replicas(const JobView& view, Role role) {
  return replicas_that_have(false, view, role);
}

std::vector<job::Replica> ended_replicas(const JobView& view, Role role) {
  return replicas_that_have(true, view, role);
}

}  // namespace nervex::server
