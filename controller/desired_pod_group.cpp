#include "controller/desired_pod_group.h"

#include <fmt/format.h>

#include <set>

#include "job/names.h"

namespace nervex::controller {
namespace {

using job::Role;

gang::MemberSet member_set(const job::Job& job, Role role, const job::RequestEntry* entry,
                           const job::PodContext& context) {
  const Json spec = job::pod_spec(job, role, entry == nullptr ? job::Slot{} : entry->slots.front(),
                                  entry, context);
  gang::MemberSet set;
  set.name = entry == nullptr ? std::string(to_string(role)) : set_name(*entry);
  set.gang = entry == nullptr ? std::string(gang::kBaseGang) : gang_name(*entry);
  set.role = to_string(role);
  set.requests = kube::pod_requests(spec);
  set.constraints = kube::constraints_of(spec);
  return set;
}

gang::MemberSet base_set(const job::Job& job, Role role, int count,
                         const job::PodContext& context) {
  gang::MemberSet set = member_set(job, role, nullptr, context);
  for (int ordinal = 0; ordinal < count; ++ordinal) set.slots.push_back({ordinal, 0});
  return set;
}

gang::MemberSet request_set(const job::Job& job, const job::RequestEntry& entry,
                            const job::PodContext& context) {
  gang::MemberSet set = member_set(job, entry.role, &entry, context);
  for (const job::Slot slot : entry.slots) set.slots.push_back({slot.ordinal, slot.incarnation});
  return set;
}

int floor_of(const std::optional<job::RoleSpec>& role) {
  return role && !role->pod_template.is_null() ? role->replicas : 0;
}

}  // namespace

bool wants_aggregator(const job::Spec& spec, bool config_exists) {
  return config_exists && spec.aggregator != "OnDemand";
}

bool waits_for_aggregator(const job::Spec& spec, bool config_exists) {
  return !config_exists && spec.aggregator == "PerJob";
}

std::vector<gang::MemberSet> base_sets(const job::Job& job, const job::PodContext& context) {
  std::vector<gang::MemberSet> sets;
  const auto add = [&](Role role, int count) {
    if (count > 0) sets.push_back(base_set(job, role, count, context));
  };
  add(Role::kCoordinator, 1);
  add(Role::kAggregator, context.has_aggregator ? 1 : 0);
  add(Role::kCollector, floor_of(job.spec.collector));
  add(Role::kLearner, floor_of(job.spec.learner));
  return sets;
}

std::vector<const job::RequestEntry*> live_entries(const job::Job& job,
                                                   const job::PodContext& context) {
  std::vector<const job::RequestEntry*> entries;
  for (const auto& entry : job.spec.requests.entries) {
    const bool is_current = entry.attempt == job.status.attempt && !entry.slots.empty();
    const bool can_be_made = !job::template_of(job, entry.role, context).is_null();
    if (is_current && can_be_made) entries.push_back(&entry);
  }
  return entries;
}

std::string gang_name(const job::RequestEntry& entry) {
  return fmt::format("request-{}", entry.id);
}

std::string set_name(const job::RequestEntry& entry) {
  return fmt::format("request-{}-{}", entry.id, to_string(entry.role));
}

std::map<std::string, const job::RequestEntry*, std::less<>> entries_by_set(const job::Job& job) {
  std::map<std::string, const job::RequestEntry*, std::less<>> entries;
  for (const auto& entry : job.spec.requests.entries) {
    if (entry.attempt == job.status.attempt) entries[set_name(entry)] = &entry;
  }
  return entries;
}

Json pod_group_manifest(const job::Job& job, const job::PodContext& context) {
  gang::PodGroupSpec spec;
  spec.attempt = job.status.attempt;
  spec.queued_since = place_in_queue(job);
  spec.members = base_sets(job, context);
  for (const auto* entry : live_entries(job, context)) {
    spec.members.push_back(request_set(job, *entry, context));
  }
  const kube::OwnerRef owner{std::string(job::kApiVersion), std::string(job::kKind), job.meta.name,
                             job.meta.uid};
  return {{"apiVersion", gang::kApiVersion},
          {"kind", gang::kKind},
          {"metadata",
           {{"name", job::pod_group_name(job, job.status.attempt)},
            {"namespace", job.meta.ns},
            {"labels",
             {{job::kGroupLabel, job::kGroupLabelValue},
              {job::kJobLabel, job.meta.name},
              {job::kControllerLabel, job::kControllerLabelValue}}},
            {"ownerReferences", Json::array({kube::encode_controller_ref(owner)})}}},
          {"spec", gang::encode_spec(spec)}};
}

std::vector<gang::MemberSet> missing_sets(const job::Job& job, const gang::PodGroup& group,
                                          const job::PodContext& context) {
  std::set<std::string> there;
  for (const auto& set : group.spec.members) there.insert(set.name);
  std::vector<gang::MemberSet> missing;
  for (const auto* entry : live_entries(job, context)) {
    if (there.count(set_name(*entry)) == 0) missing.push_back(request_set(job, *entry, context));
  }
  return missing;
}

bool drop_ended_slots(std::vector<gang::MemberSet>& sets,
                      const std::vector<job::Status::Ended>& ended, const Attempt& attempt) {
  std::set<std::pair<Role, job::Slot>> over;
  for (const auto& of : ended) over.emplace(of.role, of.slot);
  for (const auto& of : attempt.pods) over.erase({of.role, of.slot});
  std::size_t dropped = 0;
  for (auto& set : sets) {
    const auto role = job::parse_role(set.role);
    if (!role) continue;
    dropped += std::erase_if(set.slots, [&](const gang::SlotId slot) {
      return over.count({*role, job_slot(slot)}) != 0;
    });
  }
  return dropped > 0;
}

}  // namespace nervex::controller
