#include "server/listing.h"

#include "job/counts.h"
#include "job/names.h"
#include "job/pod_manifest.h"
#include "server/caller.h"

namespace nervex::server {
namespace {

// Collectors and learners; null for every other role.
std::vector<std::string>* list_for(Listing& listing, std::optional<job::Role> role) {
  if (role == job::Role::kCollector) return &listing.collectors;
  if (role == job::Role::kLearner) return &listing.learners;
  return nullptr;
}

void add_replica(Listing& listing, const job::Job& job, const kube::Pod& pod) {
  const auto role = job::role_of(pod);
  auto* list = list_for(listing, role);
  if (list != nullptr) list->push_back(replica_address(job, *role, pod.meta.name));
}

}  // namespace

bool is_shown(const kube::Pod& pod) {
  const auto state = job::state_of(pod);
  return !pod.meta.deleting &&
         (state == job::PodState::kPending || state == job::PodState::kRunning);
}

std::string replica_address(const job::Job& job, job::Role role, const std::string& pod) {
  const int port = job::main_port(job::template_of(job, role, {}), role);
  return job::replica_url(pod, job.meta.ns, port);
}

Listing list_replicas(const job::Job& job, std::string_view coordinator,
                      std::string_view pod_group_uid, std::span<const PodPtr> pods) {
  Listing listing{job.meta.ns, std::string(coordinator), {}, {}};
  for (const auto& pod : pods) {
    if (is_shown(*pod) && attempt_uid(*pod) == pod_group_uid) add_replica(listing, job, *pod);
  }
  return listing;
}

std::optional<Listing> list_one(const job::Job& job, const kube::Pod& replica) {
  if (!is_shown(replica)) return std::nullopt;
  Listing listing{job.meta.ns, job::pod_name(job, job::Role::kCoordinator, {}), {}, {}};
  add_replica(listing, job, replica);
  if (listing.collectors.empty() && listing.learners.empty()) return std::nullopt;
  return listing;
}

}  // namespace nervex::server
