#include "controller/services.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "job/names.h"

namespace nervex::controller {
namespace {

std::set<std::string_view> names_of(const std::vector<Target>& targets) {
  std::set<std::string_view> names;
  for (const auto& target : targets) names.insert(target.name);
  return names;
}

// What the API server keeps of our manifest, as the cache knows it.
std::uint64_t shape_of(const Observed& seen, const WantedSlot& slot,
                       const job::PodContext& context) {
  return service_shape(
      job::service_manifest(seen.job, slot.role, slot.slot, slot.entry(), context));
}

bool has_template(const Observed& seen, const WantedSlot& slot, const job::PodContext& context) {
  return !job::template_of(seen.job, slot.role, context).is_null();
}

}  // namespace

std::vector<Target> services_in_the_way(const Observed& seen, const Attempt& attempt,
                                        const WantedSlots& slots,
                                        const std::vector<Target>& superseded) {
  const job::PodContext context = pod_context(seen, attempt);
  const auto leaving = names_of(superseded);
  std::set<std::string_view> pods;
  for (const auto& pod : seen.pods) pods.insert(pod->meta.name);
  std::map<std::string_view, const WantedSlot*> wanted;
  for (const auto& of : attempt.pods) wanted[of.pod->meta.name] = slots.find(of.role, of.slot);
  const std::string coordinator = job::pod_name(seen.job, job::Role::kCoordinator, {});
  const std::string aggregator = job::pod_name(seen.job, job::Role::kAggregator, {});

  const auto is_in_the_way = [&](const Service& service) {
    const std::string& name = service.meta.name;
    if (leaving.count(name) != 0) return true;
    if (pods.count(name) == 0) return name != coordinator;
    const auto of = wanted.find(name);
    // A pod that takes its leave keeps its service to the end, unless the next one has its name:
    // what is left of it would tell of another loss.
    if (of == wanted.end() || of->second == nullptr) return name == aggregator;
    if (!has_template(seen, *of->second, context)) return false;
    return service.shape != shape_of(seen, *of->second, context);
  };
  std::vector<Target> targets;
  for (const auto& service : seen.services) {
    if (service->meta.deleting || !is_in_the_way(*service)) continue;
    targets.push_back({service->meta.name, service->meta.uid});
  }
  return targets;
}

CreateServices missing_services(const Observed& seen, const Attempt& attempt,
                                const WantedSlots& slots, const std::vector<Target>& leaving) {
  const job::PodContext context = pod_context(seen, attempt);
  const auto names = names_of(leaving);
  std::set<std::string_view> held;
  for (const auto& service : seen.services) held.insert(service->meta.name);
  CreateServices missing;
  for (const auto& of : attempt.pods) {
    const std::string& name = of.pod->meta.name;
    if (of.pod->meta.deleting || names.count(name) != 0 || held.count(name) != 0) continue;
    const WantedSlot* slot = slots.find(of.role, of.slot);
    if (slot == nullptr || !has_template(seen, *slot, context)) continue;
    missing.manifests.push_back(
        job::service_manifest(seen.job, slot->role, slot->slot, slot->entry(), context));
  }
  return missing;
}

}  // namespace nervex::controller
