#include "server/decide/listing.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gang/slot.h"
#include "job/counts.h"
#include "job/names.h"
#include "job/pod_manifest.h"
#include "job/ports.h"
#include "server/decide/caller.h"

namespace nervex::server {
namespace {

using job::Role;

bool is_shown(const kube::Pod& pod) {
  const auto state = job::pod_state(pod);
  return !pod.meta.deleting &&
         (state == job::PodState::kPending || state == job::PodState::kRunning);
}

// The slot in a pod's annotations; nullopt: not a pod of a gang.
std::optional<job::Slot> pod_slot(const kube::Pod& pod) {
  const auto slot = gang::pod_slot(pod);
  if (!slot) return std::nullopt;
  return job::Slot{slot->slot.ordinal, slot->slot.incarnation};
}

// The job's own aggregator belongs to the base gang.
bool is_of_a_learner(const kube::Pod& aggregator) {
  const auto slot = pod_slot(aggregator);
  return slot && slot->ordinal >= job::kFirstRequestedOrdinal;
}

void add_replica(Listing& listing, const job::Job& job, const kube::Pod& pod, int aggregator_port) {
  const auto role = job::pod_role(pod);
  const std::string& name = pod.meta.name;
  if (role == Role::kCollector) {
    listing.collectors.push_back(replica_address(job, *role, name, aggregator_port));
  } else if (role == Role::kLearner || (role == Role::kAggregator && is_of_a_learner(pod))) {
    listing.learners.push_back(replica_address(job, *role, name, aggregator_port));
  }
}

// A ddp-learner's position in its learner; nullopt: not a ddp-learner, or no longer requested.
std::optional<job::DdpPlace> find_ddp_place(const job::Job& job, const kube::Pod& pod) {
  const auto slot = pod_slot(pod);
  if (!slot || job::pod_role(pod) != Role::kDdpLearner) return std::nullopt;
  for (const auto& entry : job.spec.requests.entries) {
    if (entry.role != Role::kLearner) continue;
    if (auto place = job::place_of_ddp_learner(entry, *slot)) return place;
  }
  return std::nullopt;
}

void add_gpus(Listing& listing, const job::Job& job, const kube::Pod& pod,
              const job::DdpPlace& place) {
  const int main =
      job::main_port(job::role_template(job, Role::kDdpLearner, {}), Role::kDdpLearner);
  for (const int port : job::make_gpu_ports(main, place)) {
    listing.learners.push_back(job::replica_url(pod.meta.name, job.meta.ns, port));
  }
}

}  // namespace

std::string replica_address(const job::Job& job, job::Role role, const std::string& pod,
                            int aggregator_port) {
  const int port = role == Role::kAggregator
                       ? aggregator_port
                       : job::main_port(job::role_template(job, role, {}), role);
  return job::replica_url(pod, job.meta.ns, port);
}

std::string_view pod_in(std::string_view name_or_url) {
  return name_or_url.substr(0, name_or_url.find_first_of(".:"));
}

Listing list_replicas(const job::Job& job, std::string_view coordinator,
                      std::string_view pod_group_uid, std::span<const PodPtr> pods,
                      int aggregator_port) {
  Listing listing{job.meta.ns, std::string(coordinator), {}, {}};
  for (const auto& pod : pods) {
    if (!is_shown(*pod) || attempt_uid(*pod) != pod_group_uid) continue;
    add_replica(listing, job, *pod, aggregator_port);
  }
  return listing;
}

Listing list_aggregator(const job::Job& job, const kube::Pod& aggregator,
                        std::span<const PodPtr> pods) {
  Listing listing{job.meta.ns, job::pod_name(job, Role::kCoordinator, {}), {}, {}};
  const auto learner = pod_slot(aggregator);
  std::map<int, std::pair<const kube::Pod*, job::DdpPlace>> by_rank;
  for (const auto& pod : pods) {
    if (!is_shown(*pod) || attempt_uid(*pod) != attempt_uid(aggregator)) continue;
    const auto place = find_ddp_place(job, *pod);
    if (place && place->learner == learner) by_rank[place->start_rank] = {pod.get(), *place};
  }
  for (const auto& [rank, member] : by_rank) add_gpus(listing, job, *member.first, member.second);
  return listing;
}

std::optional<Listing> list_one(const job::Job& job, const kube::Pod& replica,
                                int aggregator_port) {
  if (!is_shown(replica)) return std::nullopt;
  Listing listing{job.meta.ns, job::pod_name(job, Role::kCoordinator, {}), {}, {}};
  add_replica(listing, job, replica, aggregator_port);
  if (const auto place = find_ddp_place(job, replica)) add_gpus(listing, job, replica, *place);
  if (listing.collectors.empty() && listing.learners.empty()) return std::nullopt;
  return listing;
}

Released::Released(const job::Job& job) : job_(job) {
  const auto* lost = find_condition(job.status, job::kRequestsLost);
  is_lost_ = lost != nullptr && lost->status;
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    for (const auto& replica : job::wanted_replicas(job, role)) {
      for (const auto& pod : job::replica_pods(replica)) {
        wanted_[{pod.role, pod.slot.ordinal}] = pod.slot.incarnation;
      }
    }
  }
}

bool Released::has(const kube::Pod& pod) const {
  const auto id = gang::pod_slot(pod);
  const auto role = id ? job::parse_role(id->role) : std::nullopt;
  if (!role) return false;
  const auto at = wanted_.find({*role, id->slot.ordinal});
  if (at != wanted_.end()) return id->slot.incarnation < at->second;
  return was_removed(*role, id->slot.ordinal);
}

bool Released::was_removed(Role role, int ordinal) const {
  const auto& requests = job_.spec.requests;
  if (ordinal >= job::kFirstRequestedOrdinal) {
    return !is_lost_ && ordinal < next_ordinal(requests, role);
  }
  return std::any_of(requests.base.begin(), requests.base.end(), [&](const auto& change) {
    return change.role == role && change.slot.ordinal == ordinal && is_removed(job_, change);
  });
}

std::vector<PodPtr> kept_pods(const job::Job& job, std::vector<PodPtr> pods) {
  const Released released(job);
  std::erase_if(pods, [&](const PodPtr& pod) { return released.has(*pod); });
  return pods;
}

}  // namespace nervex::server
