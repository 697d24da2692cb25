#include "controller/decide/objects/services.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"
#include "controller/decide/round/pod_context.h"
#include "job/names.h"

namespace nervex::controller {
namespace {

using job::ServiceMode;

bool is_shared(const Round& round) { return round.job.status.services == ServiceMode::kShared; }

std::string describe_consequence(const std::string& why) {
  return fmt::format(
      "{}: each pod of this attempt has its own headless Service instead of the namespace's "
      "Service",
      why);
}

}  // namespace

std::string taken_service(const std::string& ns) {
  return fmt::format("service {0}/{0} belongs to another owner", ns);
}

Actions fall_back_to_per_pod(const Observed& seen, std::string_view reason,
                             const std::string& message) {
  if (seen.job.meta.deleting || seen.job.status.services == ServiceMode::kPerPod) return {};
  job::Status status = seen.job.status;
  status.services = ServiceMode::kPerPod;
  std::string told = describe_consequence(message);
  set_condition(seen, status, kPerPodServices, true, reason, told);
  return {UpdateStatus{std::move(status)}, warning_event(reason, std::move(told))};
}

// The API server's reason stays during the attempt.
void report_services(const Round& round, job::Status& status) {
  if (status.services == ServiceMode::kShared) {
    remove_condition(status, kPerPodServices);
  } else if (round.seen.shared_services && is_service_name_taken(round.seen)) {
    set_condition(round.seen, status, kPerPodServices, true, kServiceNameTaken,
                  describe_consequence(taken_service(round.job.meta.ns)));
  }
}

// -- the namespace's Service

Actions shared_service_steps(const Round& round) {
  if (!is_shared(round)) return {};
  Json manifest = job::shared_service_manifest(round.job.meta.ns);
  const auto& there = round.seen.shared_service;
  Actions steps;
  if (there != nullptr && !there->meta.deleting) {
    if (there->shape == service_shape(manifest)) return {};
    if (there->is_headless) {  // then names go on resolving meanwhile
      return {
          UpdateSharedService{there->meta.uid, there->meta.resource_version, std::move(manifest)}};
    }
    steps.push_back(
        DeleteServices{{{there->meta.name, there->meta.uid, false, there->meta.resource_version}}});
  }
  steps.push_back(CreateSharedService{std::move(manifest)});
  return steps;
}

std::optional<Target> unused_shared_service(const std::shared_ptr<const Service>& of_namespace,
                                            bool has_jobs) {
  if (of_namespace == nullptr || has_jobs || of_namespace->meta.deleting ||
      !is_shared_service(*of_namespace)) {
    return std::nullopt;
  }
  const kube::Meta& meta = of_namespace->meta;
  return Target{meta.name, meta.uid, false, meta.resource_version};
}

// -- Services of single pods

bool needs_own_service(const Round& round, job::Role role, const job::PodContext& context) {
  return !context.shared_names ||
         !job::can_share_name(job::role_template(round.job, role, context));
}

namespace {

std::set<std::string_view> collect_names(const std::vector<Target>& targets) {
  std::set<std::string_view> names;
  for (const auto& target : targets) names.insert(target.name);
  return names;
}

// The cached form of our manifest.
std::uint64_t expected_shape(const Observed& seen, const WantedSlot& slot,
                             const job::PodContext& context) {
  return service_shape(
      job::service_manifest(seen.job, slot.role, slot.slot, slot.entry(), context));
}

bool has_template(const Observed& seen, const WantedSlot& slot, const job::PodContext& context) {
  return !job::role_template(seen.job, slot.role, context).is_null();
}

// For wanted pods with a placement.
std::map<std::string, const WantedSlot*> slots_by_name(const Round& round) {
  std::map<std::string, const WantedSlot*> slots;
  for (const auto& slot : round.slots.all()) {
    if (slot.is_over || round.backing_off.count({slot.role, slot.slot.ordinal}) != 0) continue;
    if (round.placements.count({to_string(slot.role), slot_id(slot.slot)}) == 0) continue;
    slots[job::pod_name(round.job, slot.role, slot.slot)] = &slot;
  }
  return slots;
}

}  // namespace

std::vector<Target> services_in_the_way(const Round& round) {
  std::vector<Target> targets;
  if (round.seen.services.empty()) return targets;
  const job::PodContext context = pod_context(round.seen, round.attempt);
  std::set<std::string_view> pods;
  for (const auto& pod : round.seen.pods) pods.insert(pod->meta.name);
  const auto wanted = slots_by_name(round);
  const auto is_in_the_way = [&](const Service& service) {
    const auto at = wanted.find(service.meta.name);
    // A terminating pod keeps its service to the end.
    if (at == wanted.end()) return pods.count(service.meta.name) == 0;
    if (!has_template(round.seen, *at->second, context)) return false;
    return service.shape != expected_shape(round.seen, *at->second, context);
  };
  for (const auto& service : round.seen.services) {
    if (service->meta.deleting || !is_in_the_way(*service)) continue;
    targets.push_back({service->meta.name, service->meta.uid});
  }
  return targets;
}

CreateServices missing_services(const Round& round, const std::vector<Target>& leaving) {
  const job::PodContext context = pod_context(round.seen, round.attempt);
  const bool has_shared = is_shared(round);
  const auto names = collect_names(leaving);
  std::set<std::string_view> existing;
  for (const auto& service : round.seen.services) existing.insert(service->meta.name);
  CreateServices missing;
  for (const auto& member : round.attempt.pods) {
    if (has_shared && member.pod->is_named_by_namespace) continue;
    const std::string& name = member.pod->meta.name;
    if (member.pod->meta.deleting || names.count(name) != 0 || existing.count(name) != 0) continue;
    const WantedSlot* slot = round.slots.find(member.role, member.slot);
    if (slot == nullptr || !has_template(round.seen, *slot, context)) continue;
    missing.manifests.push_back(
        job::service_manifest(round.job, slot->role, slot->slot, slot->entry(), context));
  }
  return missing;
}

bool has_shared_names(const Round& round, const std::vector<Target>& leaving) {
  if (!is_shared(round)) return false;
  const auto names = collect_names(leaving);
  return std::any_of(round.attempt.pods.begin(), round.attempt.pods.end(), [&](const auto& member) {
    return member.pod->is_named_by_namespace && !member.pod->meta.deleting &&
           names.count(member.pod->meta.name) == 0;
  });
}

}  // namespace nervex::controller
