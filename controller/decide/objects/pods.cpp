#include "controller/decide/objects/pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "controller/decide/objects/cleanup.h"
#include "controller/decide/objects/direct_placement.h"
#include "controller/decide/objects/services.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/pod_context.h"
#include "gang/outage_tolerations.h"
#include "job/names.h"
#include "kube/model/json.h"

namespace nervex::controller {

namespace {

using job::Role;

using Number = std::pair<Role, int>;  // role and ordinal

// Pods to delete.
struct Leaving {
  std::vector<const kube::Pod*> unwanted;
  std::vector<const kube::Pod*> taken_back;  // with their gang, until its next try
  std::vector<const kube::Pod*> superseded;  // to be created again with another placement
  const AttemptPod* first_superseded = nullptr;

  std::vector<const kube::Pod*> all() const {
    std::vector<const kube::Pod*> pods = unwanted;
    pods.insert(pods.end(), taken_back.begin(), taken_back.end());
    pods.insert(pods.end(), superseded.begin(), superseded.end());
    return pods;
  }
};

// Its slot has another placement now, or none and the pod was never bound. A bound pod keeps its
// placement until there is a better one. A number that the cached status has not issued yet shows
// that the pod is newer than the cache.
bool is_superseded(const AttemptPod& member, const gang::PodGroup& group,
                   const Placements& placements) {
  if (member.pod->is_finished() || member.placement >= group.status.next_placement) return false;
  const bool is_bound = !member.pod->node.empty();
  const auto placement = placements.find({to_string(member.role), slot_id(member.slot)});
  if (placement == placements.end()) return !is_bound;
  if (is_bound && member.role == Role::kCoordinator) return false;  // its end is the attempt's
  return placement->second->number != member.placement;
}

// A later incarnation is wanted: a client requested it, which lost requests cannot imitate.
bool has_successor(const AttemptPod& member, const WantedSlots& slots) {
  const WantedSlot* now = slots.find(member.role, member.slot.ordinal);
  return now != nullptr && now->slot.incarnation > member.slot.incarnation;
}

Leaving leaving_pods(const Round& round, const Placements& placements) {
  Leaving leaving;
  for (const auto& member : round.attempt.pods) {
    if (member.pod->meta.deleting) continue;
    if (round.slots.find(member.role, member.slot) == nullptr) {
      if (!round.requests_lost || has_successor(member, round.slots))
        leaving.unwanted.push_back(member.pod);
    } else if (round.backing_off.count({member.role, member.slot.ordinal}) != 0) {
      if (!member.pod->is_finished()) leaving.taken_back.push_back(member.pod);
    } else if (is_plan_current(*round.attempt.group) &&
               is_superseded(member, *round.attempt.group, placements)) {
      leaving.superseded.push_back(member.pod);
      if (leaving.first_superseded == nullptr) leaving.first_superseded = &member;
    }
  }
  return leaving;
}

// Newest first, so that those with the least work done go first if the deletion is interrupted.
std::vector<Target> sort_targets(std::vector<const kube::Pod*> pods) {
  std::sort(pods.begin(), pods.end(), [](const kube::Pod* a, const kube::Pod* b) {
    return std::tie(b->meta.created, a->meta.name) < std::tie(a->meta.created, b->meta.name);
  });
  std::vector<Target> targets;
  targets.reserve(pods.size());
  for (const auto* pod : pods) {
    targets.push_back(pod_target(*pod));
    // Its end is the attempt's, and it may be bound by now, which the cache does not show.
    const bool as_seen = pod->node.empty() && job::pod_role(*pod) == Role::kCoordinator;
    if (as_seen) targets.back().resource_version = pod->meta.resource_version;
  }
  return targets;
}

// Why a pod lost its placement: the planner's message about its gang.
std::string why_superseded(const AttemptPod& member, const gang::PodGroup& group) {
  for (const auto& gang : group.status.gangs) {
    if (gang.planned || gang.message.empty() || !is_of_gang(member, group, gang.name)) continue;
    return fmt::format("{} lost its placements: {}",
                       gang.name == gang::kBaseGang ? "the gang" : gang.name, gang.message);
  }
  return "a new plan places it elsewhere";
}

RecordEvent deletion_event(const std::vector<const kube::Pod*>& pods, std::string_view why) {
  const std::string what =
      pods.size() == 1 ? "pod " + pods.front()->meta.name : fmt::format("{} pods", pods.size());
  return normal_event(kSuccessfulDelete, fmt::format("deleted {}: {}", what, why));
}

// One deletion, and an event for each reason.
void append_deletion(const Leaving& leaving, const std::vector<Target>& targets,
                     const gang::PodGroup& group, Actions& steps) {
  if (targets.empty()) return;
  steps.push_back(DeletePods{targets});
  if (!leaving.unwanted.empty()) {
    steps.push_back(deletion_event(leaving.unwanted, "no longer wanted"));
  }
  if (!leaving.taken_back.empty()) {
    steps.push_back(deletion_event(leaving.taken_back, "the gang was requeued"));
  }
  if (!leaving.superseded.empty()) {
    steps.push_back(
        deletion_event(leaving.superseded, why_superseded(*leaving.first_superseded, group)));
  }
}

// Names occupied by pods to be deleted, and slots occupied by unfinished pods.
struct Taken {
  std::set<std::string_view> names;
  std::set<Number> slots;
  std::map<std::string_view, const AttemptPod*> good;  // pods of this attempt that stay
};

Taken taken_by(const Round& round, const std::vector<Target>& leaving) {
  Taken taken;
  for (const auto& pod : round.seen.pods) {
    taken.names.insert(pod->meta.name);
    const auto slot = gang::pod_slot(*pod);
    const auto role = slot ? job::parse_role(slot->role) : std::nullopt;
    if (role && !pod->is_finished()) taken.slots.emplace(*role, slot->slot.ordinal);
  }
  for (const auto& member : round.attempt.pods) {
    if (!member.pod->meta.deleting) taken.good[member.pod->meta.name] = &member;
  }
  for (const auto& target : leaving) taken.good.erase(target.name);
  return taken;
}

// Maximum number of workers that one round creates; the next one continues. Their manifests are in
// memory together, and during the writes neither a deletion nor a suspension of the job is noticed.
constexpr std::size_t kMostCreatedAtOnce = 250;
// Maximum size of these manifests as documents, in bytes. At least one worker is created.
constexpr std::size_t kMostCreatedBytes = std::size_t{4} << 20U;

// The difference between wanted and existing pods.
struct Gap {
  std::vector<const WantedPod*> workers;   // to create, including the aggregator
  const WantedPod* coordinator = nullptr;  // to create after all others
};

std::size_t most_created_at_once(const Round& round) {
  const job::Spec& spec = round.job.spec;
  std::size_t largest = 1;
  const auto measure = [&](const Json& pod_template) {
    largest = std::max(largest, kube::document_bytes(pod_template));
  };
  if (spec.collector) measure(spec.collector->pod_template);
  if (spec.learner) measure(spec.learner->pod_template);
  if (round.seen.aggregator_config) measure(round.seen.aggregator_config->pod_template);
  largest += kube::document_bytes(spec.volumes);
  return std::clamp<std::size_t>(kMostCreatedBytes / largest, 1, kMostCreatedAtOnce);
}

Gap find_gap(const Round& round, const Wanted& wanted, const Taken& taken) {
  const bool config_exists = round.seen.aggregator_config != nullptr;
  Gap gap;
  bool coordinator_may_start = wanted.base_is_placed;
  for (const auto& want : wanted.pods) {
    const auto good = taken.good.find(want.name);
    if (good != taken.good.end() && good->second->slot == want.slot) continue;
    const bool is_taken =
        taken.names.count(want.name) != 0 || taken.slots.count({want.role, want.slot.ordinal}) != 0;
    const bool can_be_made = want.role != Role::kAggregator || config_exists;
    if (want.role == Role::kCoordinator) {
      if (!is_taken) gap.coordinator = &want;
    } else if (!want.is_over && (is_taken || !can_be_made)) {
      if (want.is_of_base) coordinator_may_start = false;
    } else if (!want.is_over) {
      gap.workers.push_back(&want);
    }
  }
  const std::size_t most = gap.workers.size() > 1 ? most_created_at_once(round) : 1;
  if (gap.workers.size() > most) {
    gap.workers.resize(most);
    coordinator_may_start = false;
  }
  if (!coordinator_may_start) gap.coordinator = nullptr;
  return gap;
}

Json make_manifest(const Round& round, const WantedPod& want, const job::PodContext& context) {
  job::PodOrder order;
  order.role = want.role;
  order.slot = want.slot;
  order.node = want.placement->node;
  order.has_node_name = is_created_with_node(round, want);
  order.entry = want.entry;
  order.annotations = gang::annotations_for({round.attempt.group->meta.uid, want.placement->role,
                                             want.placement->slot, want.placement->number});
  Json manifest = job::pod_manifest(round.job, order, context);
  Json& annotations = manifest["metadata"]["annotations"];
  annotations.erase(std::string(gang::kQueueAnnotation));  // of the template
  const std::string& queue = round.attempt.group->status.queue.name;
  if (!queue.empty()) annotations[std::string(gang::kQueueAnnotation)] = queue;
  for (const auto& key : gang::outage_annotation_keys()) annotations.erase(key);
  const Json& tolerations = kube::array_at(manifest, {"spec", "tolerations"});
  for (const auto& [key, value] : gang::outage_annotations(tolerations)) annotations[key] = value;
  return manifest;
}

std::string created_text(const Gap& gap) {
  const std::size_t count = gap.workers.size() + (gap.coordinator != nullptr ? 1 : 0);
  if (count > 1) return fmt::format("created {} pods", count);
  return "created pod " + (gap.coordinator ? gap.coordinator : gap.workers.front())->name;
}

// The name excludes a second pod of the same slot, but pods of other incarnations and attempts have
// other names, and a cache may lack them. A job never reuses ordinals of requests: only an earlier
// incarnation can occupy such a slot.
ConfirmFree slots_to_confirm(const Round& round, const Gap& gap) {
  ConfirmFree confirm;
  confirm.pod_group_uid = round.attempt.group->meta.uid;
  for (const auto* want : gap.workers) {
    const bool may_be_of_earlier_attempt =
        round.job.status.attempt > 1 && want->slot.ordinal < job::kFirstRequestedOrdinal;
    if (want->slot.incarnation == 0 && !may_be_of_earlier_attempt) continue;
    confirm.slots.emplace_back(want->role, want->slot);
  }
  return confirm;
}

bool is_empty(const Gap& gap) { return gap.workers.empty() && gap.coordinator == nullptr; }

// When the coordinator runs, one event speaks for the whole start.
bool is_reported_when_running(const Round& round, const Gap& gap) {
  return round.seen.job.status.phase == job::Phase::kCreated &&
         std::all_of(gap.workers.begin(), gap.workers.end(),
                     [](const WantedPod* want) { return want->is_of_base; });
}

// Services come first: a pod's name resolves as soon as it has an address.
void add_creations(const Round& round, const Gap& gap, bool has_shared_service, Actions& steps) {
  const job::PodContext context = pod_context(round);
  std::set<std::string_view> existing;
  for (const auto& service : round.seen.services) existing.insert(service->meta.name);
  CreatePods workers;
  CreateServices services;
  bool needs_shared_service = false;
  const auto add_service = [&](const WantedPod& want) {
    if (!needs_own_service(round, want.role, context)) {
      needs_shared_service = true;
    } else if (existing.count(want.name) == 0) {
      services.manifests.push_back(
          job::service_manifest(round.job, want.role, want.slot, want.entry, context));
    }
  };
  for (const auto* want : gap.workers) {
    workers.manifests.push_back(make_manifest(round, *want, context));
    add_service(*want);
  }
  if (gap.coordinator != nullptr) add_service(*gap.coordinator);

  ConfirmFree confirm = slots_to_confirm(round, gap);
  if (!confirm.slots.empty()) steps.push_back(std::move(confirm));
  if (needs_shared_service && !has_shared_service) append(shared_service_steps(round), steps);
  if (!services.manifests.empty()) steps.push_back(std::move(services));
  if (!workers.manifests.empty()) steps.push_back(std::move(workers));
  if (gap.coordinator != nullptr) {
    steps.push_back(CreatePods{{make_manifest(round, *gap.coordinator, context)}});
  }
  if (!is_empty(gap) && !is_reported_when_running(round, gap)) {
    steps.push_back(normal_event(kSuccessfulCreate, created_text(gap)));
  }
}

}  // namespace

bool is_plan_current(const gang::PodGroup& group) {
  return group.status.observed_generation == group.meta.generation;
}

Actions pod_steps(const Round& round, bool spec_changes) {
  Actions steps;
  if (round.attempt.group == nullptr) return steps;
  const WantedSlots& slots = round.slots;
  Placements placements = planned_placements(round.attempt.group->status);
  for (const auto& [role, ordinal] : round.backing_off) {
    placements.erase({to_string(role), slot_id(slots.find(role, ordinal)->slot)});
  }
  const Leaving pods = leaving_pods(round, placements);
  const std::vector<Target> leaving = sort_targets(pods.all());

  if (!round.requests_lost) {
    auto services = services_in_the_way(round);
    if (!services.empty()) steps.push_back(DeleteServices{std::move(services)});
  }
  append_deletion(pods, leaving, *round.attempt.group, steps);
  const bool has_names = has_shared_names(round, leaving);
  if (has_names) append(shared_service_steps(round), steps);
  auto services = missing_services(round, leaving);
  if (!services.manifests.empty()) steps.push_back(std::move(services));
  if (spec_changes || !is_plan_current(*round.attempt.group)) return steps;
  const Wanted wanted = wanted_pods(round.job, slots, *round.attempt.group, placements);
  const Taken taken = taken_by(round, leaving);
  add_creations(round, find_gap(round, wanted, taken), has_names, steps);
  return steps;
}

}  // namespace nervex::controller
