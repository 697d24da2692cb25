#include "tests/sim/rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"
#include "job/names.h"
#include "kube/model/disruption.h"

namespace nervex::testing {
namespace {

using job::Role;
using kube::string_at;

std::string describe_pod_slot(const gang::PodSlot& slot) {
  return fmt::format("{}/{}/{}", slot.role, slot.slot.ordinal, slot.slot.incarnation);
}

bool is_unfinished(const kube::Pod& pod) { return !pod.is_finished(); }

bool has_aggregator(const gang::PodGroup& group) {
  const gang::Gang* base = gang::find_gang(group.spec, gang::kBaseGang);
  return base != nullptr &&
         std::any_of(base->members.begin(), base->members.end(), [](const auto& set) {
           return set.role == to_string(Role::kAggregator) && !set.slots.empty();
         });
}

// A worker that a client asked for by itself: not a part of a multi-GPU learner, nor the job's own
// aggregator.
bool is_plain_worker(Role role) { return role == Role::kCollector || role == Role::kLearner; }

}  // namespace

Rules::Rules(const FakeApi& api, std::string ns, std::string name)
    : api_(api), ns_(std::move(ns)), name_(std::move(name)) {}

std::optional<job::Job> Rules::live_job() const {
  const Json object = api_.get(kube::kNervexJobs, ns_, name_);
  if (object.is_null()) return std::nullopt;
  return *job::decode_job(object);
}

std::optional<gang::PodGroup> Rules::current_group(const job::Job& job) const {
  const std::string name = job::pod_group_name(job, job.status.attempt);
  for (const auto& [uid, group] : live_groups()) {
    if (group.meta.name == name) return group;
  }
  return std::nullopt;
}

std::vector<const Rules::LivePod*> Rules::live_pods() const {
  std::vector<const LivePod*> pods;
  std::map<std::string, LivePod> known;
  api_.each(kube::kPods, [&](const Json& object) {
    const std::string uid = string_at(object, {"metadata", "uid"});
    const auto before = known_pods_.find(uid);
    const bool is_same =
        before != known_pods_.end() && before->second.pod.meta.resource_version ==
                                           string_at(object, {"metadata", "resourceVersion"});
    if (is_same) {
      known.insert(known_pods_.extract(before));
      return;
    }
    auto pod = *controller::decode_pod(kube::to_text(object));
    auto slot = gang::pod_slot(pod);
    const auto role = slot ? job::parse_role(slot->role) : std::nullopt;
    if (role) known.emplace(uid, LivePod{std::move(pod), *std::move(slot), *role});
  });
  known_pods_ = std::move(known);
  for (const auto& [uid, pod] : known_pods_) pods.push_back(&pod);
  return pods;
}

// By uid.
const std::map<std::string, gang::PodGroup>& Rules::live_groups() const {
  std::map<std::string, gang::PodGroup> known;
  api_.each(kube::kPodGroups, [&](const Json& object) {
    const auto before = known_groups_.find(string_at(object, {"metadata", "uid"}));
    const bool is_same =
        before != known_groups_.end() &&
        before->second.meta.resource_version == string_at(object, {"metadata", "resourceVersion"});
    if (is_same) {
      known.insert(known_groups_.extract(before));
    } else {
      auto group = *gang::decode_pod_group(object);
      known.emplace(group.meta.uid, std::move(group));
    }
  });
  known_groups_ = std::move(known);
  return known_groups_;
}

bool Rules::has_config() const {
  bool is_there = false;
  api_.each(kube::kAggregatorConfigs, [&](const Json&) { is_there = true; });
  return is_there;
}

job::WantedSlots Rules::wanted(const job::Job& job, const gang::PodGroup& group) const {
  return job::WantedSlots(job, has_aggregator(group));
}

void Rules::lowered_base(Role role, int replicas) {
  const auto is_taken_away = [&](Role lowered_role, int ordinal) {
    return lowered_role == role && ordinal >= replicas && ordinal < job::kFirstRequestedOrdinal;
  };
  std::erase_if(ended_, [&](const auto& entry) {
    return is_taken_away(std::get<1>(entry.first), std::get<2>(entry.first));
  });
  for (const auto& [uid, pod] : known_pods_) {
    if (is_taken_away(pod.role, pod.slot.slot.ordinal)) lowered_.insert(uid);
  }
}

// ---- what the controller writes

void Rules::before(const kube::ApiRequest& request, const controller::Stores& stores) {
  if (request.method == "GET") return;
  const FakePath path = parse_path(request.path);
  if (path.plural == "events") return;
  job_before_ = live_job();
  group_before_.reset();
  config_is_known_ = stores.aggregator_configs.size() > 0;
  if (request.method == "DELETE") check_deletion(request, path);
  const auto body = kube::parse_json(request.body);
  const bool is_final_now = job_before_ && is_final(job_before_->status.phase);
  // Pods that are kept when a job ends keep their names.
  const bool is_creation =
      request.method == "POST" && path.name.empty() && path.plural != "endpointslices";
  if (is_creation && path.plural == "pods") check_creation(*body, stores);
  if (is_creation && is_final_now && path.plural != "selfsubjectaccessreviews") {
    breach("creates a " + path.plural + " of a job that has ended: " + request.body.substr(0, 200));
  }
  if (request.method == "PATCH" && path.plural == "podgroups") {
    const Json group = api_.get(kube::kPodGroups, ns_, path.name);
    if (!group.is_null()) group_before_ = *gang::decode_pod_group(group);
  }
  if (request.method != "PUT" || path.plural != "nervexjobs") return;
  const std::string version = string_at(*body, {"metadata", "resourceVersion"});
  if (!is_final_now || version != job_before_->meta.resource_version) return;
  // Said of a spec that was changed afterwards, for tools that wait by kstatus.
  auto after = job::decode_job(*body);
  if (after) after->status.observed_generation = job_before_->status.observed_generation;
  if (!after || after->status != job_before_->status) {
    breach("writes on a job that has ended: " + request.body.substr(0, 200));
  }
}

void Rules::after(const kube::ApiRequest& request) {
  if (request.method != "PATCH" && request.method != "PUT") return;
  const FakePath path = parse_path(request.path);
  if (path.plural == "podgroups" && group_before_) check_members(*group_before_);
  if (path.plural == "nervexjobs" && job_before_) {
    if (const auto now = live_job()) check_status(*job_before_, *now);
  }
}

// Rule 4: nothing is deleted by name alone, and no object of another owner.
void Rules::check_deletion(const kube::ApiRequest& request, const FakePath& path) {
  if (path.plural == "nervexjobs" || path.plural == "endpointslices") return;
  const kube::ResourceKind& kind = path.plural == "pods"       ? kube::kPods
                                   : path.plural == "services" ? kube::kServices
                                                               : kube::kPodGroups;
  const Json object = api_.get(kind, path.ns, path.name);
  const auto body = kube::parse_json(request.body);
  const std::string uid = string_at(*body, {"preconditions", "uid"});
  if (uid.empty()) breach("deletes " + path.name + " by its name alone");
  if (object.is_null() || string_at(object, {"metadata", "uid"}) != uid) return;
  const auto meta = kube::decode_meta(object);
  if (!job_before_) return;
  if (controller::owner_job_uid(meta) != job_before_->meta.uid) {
    breach(fmt::format("deletes {} {} of another owner", path.plural, path.name));
  }
  if (is_final(job_before_->status.phase)) return;
  if (path.plural == "pods") check_pod_deletion(object);
  const bool is_current =
      path.name == job::pod_group_name(*job_before_, job_before_->status.attempt);
  if (path.plural == "podgroups" && is_current && !job_before_->spec.suspend) {
    // One without a started pod may be deleted until pods of an earlier attempt have ended
    // (previous_attempt.h), in the observed version.
    const gang::PodGroup group = *gang::decode_pod_group(object);
    const auto* base = gang::find_gang(group.status, gang::kBaseGang);
    bool has_started = base != nullptr && base->committed;
    for (const Json& one : api_.list(kube::kPods)) {
      const auto slot = gang::pod_slot(*controller::decode_pod(kube::to_text(one)));
      const bool is_its = slot && slot->pod_group_uid == group.meta.uid;
      has_started = has_started || (is_its && !string_at(one, {"spec", "nodeName"}).empty());
    }
    const std::string version = string_at(*body, {"preconditions", "resourceVersion"});
    if (has_started && (version.empty() || version == group.meta.resource_version)) {
      breach("deletes the PodGroup of the attempt that goes on");
    }
  }
}

void Rules::check_pod_deletion(const Json& object) {
  const auto pod = *controller::decode_pod(kube::to_text(object));
  const auto slot = gang::pod_slot(pod);
  const auto group = current_group(*job_before_);
  if (!slot || !group || slot->pod_group_uid != group->meta.uid) return;
  const auto role = job::parse_role(slot->role);
  const bool is_current = group->status.observed_generation == group->meta.generation;
  if (!role || pod.meta.deleting || pod.is_finished() || !is_current) return;
  const auto slots = wanted(*job_before_, *group);
  const auto* want = slots.find(*role, job::Slot{slot->slot.ordinal, slot->slot.incarnation});
  if (want == nullptr) return;
  const auto* placement = gang::find_placement(group->status, slot->role, slot->slot);
  const bool is_bound = !pod.node.empty();
  if (placement == nullptr ? is_bound : placement->number == slot->placement) {
    breach(fmt::format("deletes pod {} ({}), which is wanted", pod.meta.name,
                       describe_pod_slot(*slot)));
  }
}

// Rule 1: only what the spec that was read wants.
void Rules::check_creation(const Json& manifest, const controller::Stores& stores) {
  const auto pod = controller::decode_pod(kube::to_text(manifest));
  const auto slot = gang::pod_slot(*pod);
  const auto role = slot ? job::parse_role(slot->role) : std::nullopt;
  const auto known = stores.jobs.get(ns_ + "/" + name_);
  if (!role || !known) return breach("creates a pod of no slot, or of no job");
  const std::string what =
      fmt::format("creates pod {} ({})", pod->meta.name, describe_pod_slot(*slot));
  const auto group = job_before_ ? current_group(*job_before_) : std::nullopt;
  // With the aggregator: the PodGroup says whether there is one, and may be older than the plan.
  const job::WantedSlots slots(*known, true);
  if (slots.find(*role, job::Slot{slot->slot.ordinal, slot->slot.incarnation}) == nullptr) {
    breach(what + ", which the spec that was read does not want");
  }
  if (!api_.get(kube::kPods, ns_, pod->meta.name).is_null()) return;  // it will not be carried out
  for (const LivePod* at : live_pods()) {
    const LivePod& other = *at;
    if (other.role == *role && other.slot.slot.ordinal == slot->slot.ordinal &&
        is_unfinished(other.pod)) {
      breach(what + " beside the live one " + other.pod.meta.name);
    }
  }
  if (!group || group->meta.uid != slot->pod_group_uid) return;  // a stray: filter refuses it
  if (*role == Role::kCoordinator) check_coordinator(*group, stores);
  if (is_plain_worker(*role)) check_replacement(*job_before_, *slot, *role);
}

// It comes last, and once: another one would not know its workers.
void Rules::check_coordinator(const gang::PodGroup& group, const controller::Stores& stores) {
  if (coordinator_ran_.count(group.meta.uid) != 0) {
    breach("creates a second coordinator in an attempt whose first one has run");
  }
  if (group.status.observed_generation != group.meta.generation) return;
  std::set<std::pair<std::string, int>> there;
  for (const LivePod* at : live_pods()) {
    const LivePod& pod = *at;
    if (pod.slot.pod_group_uid == group.meta.uid) {
      there.emplace(pod.slot.role, pod.slot.slot.ordinal);
    }
  }
  // One without our finalizer may have been deleted a moment ago.
  for (const auto& pod : stores.pods.by_index(ns_ + "/" + name_)) {
    const auto slot = gang::pod_slot(*pod);
    if (slot && slot->pod_group_uid == group.meta.uid) {
      there.emplace(slot->role, slot->slot.ordinal);
    }
  }
  const auto slots = wanted(*job_before_, group);
  const gang::Gang* base = gang::find_gang(group.spec, gang::kBaseGang);
  if (base == nullptr) return;
  for (const auto& set : base->members) {
    if (set.role == to_string(Role::kCoordinator)) continue;
    for (const auto slot : set.slots) {
      const auto* want = slots.find(*job::parse_role(set.role), slot.ordinal);
      if (want == nullptr || want->is_over || there.count({set.role, slot.ordinal}) != 0) continue;
      breach(fmt::format("creates the coordinator before {}/{}", set.role, slot.ordinal));
    }
  }
}

// A pod that finished on its own is counted; only its requester may request another one.
void Rules::check_replacement(const job::Job& job, const gang::PodSlot& slot, Role role) {
  const auto ended = ended_.find({slot.pod_group_uid, role, slot.slot.ordinal});
  if (ended == ended_.end()) return;
  job::Job asked = job;
  asked.status.replaced.clear();
  const job::WantedSlots slots(asked, false);
  const auto* want = slots.find(role, slot.slot.ordinal);
  if (want != nullptr && want->slot.incarnation > ended->second) return;
  breach(fmt::format("replaces {}, whose incarnation {} finished by itself",
                     describe_pod_slot(slot), ended->second));
}

// What is wanted stays in the PodGroup.
void Rules::check_members(const gang::PodGroup& before) {
  const Json object = api_.get(kube::kPodGroups, ns_, before.meta.name);
  if (object.is_null() || !job_before_ || before.meta.deleting) return;
  if (before.meta.name != job::pod_group_name(*job_before_, job_before_->status.attempt)) return;
  const gang::PodGroup now = *gang::decode_pod_group(object);
  check_reserved(before, now);
  std::set<std::pair<std::string, int>> left;
  for (const auto& set : gang::all_sets(now.spec.gangs)) {
    for (const auto slot : set.slots) left.emplace(set.role, slot.ordinal);
  }
  const auto slots = wanted(*job_before_, before);
  // Requeued gangs wait outside of the PodGroup for their next try.
  const auto& requeued = job_before_->status.requeued_gangs;
  for (const auto& gang : before.spec.gangs) {
    const bool waits = std::any_of(requeued.begin(), requeued.end(),
                                   [&](const auto& entry) { return entry.name == gang.name; });
    if (waits) continue;
    for (const auto& set : gang.members) {
      for (const auto slot : set.slots) {
        const auto* want = slots.find(*job::parse_role(set.role), slot.ordinal);
        if (want == nullptr || want->is_over || left.count({set.role, slot.ordinal}) != 0) continue;
        breach(fmt::format("takes {}/{} out of the PodGroup, which is wanted", set.role,
                           slot.ordinal));
      }
    }
  }
}

// A committed gang's reserved capacity only shrinks: capacity that requests took over is not
// reserved again, and no slot takes it over twice.
void Rules::check_reserved(const gang::PodGroup& before, const gang::PodGroup& now) {
  const auto* base = gang::find_gang(before.status, gang::kBaseGang);
  const auto sums = [](const gang::PodGroup& group) {
    std::map<std::string, int> out;
    for (const auto& set : gang::all_sets(group.spec.gangs)) {
      if (set.reserved_pods > 0) out[set.name] += set.reserved_pods;
      if (set.from_reserved.count > 0) out[set.from_reserved.set] += set.from_reserved.count;
    }
    return out;
  };
  auto had = sums(before);
  int took_over = 0;
  for (const auto& set : gang::all_sets(now.spec.gangs)) took_over += set.from_reserved.count;
  for (const auto& set : gang::all_sets(before.spec.gangs)) took_over -= set.from_reserved.count;
  if (took_over > 0) ++seen["reserved capacity taken over"];
  for (const auto& [set, count] : sums(now)) {
    if (base == nullptr || !base->committed || count <= had[set]) continue;
    breach(fmt::format("{} reserves {} pods after {}", set, count, had[set]));
  }
}

// The cluster has capacity for all.
void Rules::check_reserved_is_placed(const gang::PodGroup& group) {
  const auto* base = gang::find_gang(group.status, gang::kBaseGang);
  if (base == nullptr || !base->committed) return;
  int wanted = 0;
  for (const auto& set : gang::all_sets(group.spec.gangs)) wanted += set.reserved_pods;
  int placed = 0;
  for (const auto& entry : base->reserved) placed += entry.count;
  if (wanted > 0) ++seen["capacity reserved"];
  if (wanted != placed) breach(fmt::format("{} of {} reserved pods have a place", placed, wanted));
}

void Rules::check_status(const job::Job& before, const job::Job& after) {
  check_conditions(after);
  if (after.status.attempt == before.status.attempt && !is_final(after.status.phase)) return;
  const std::string reason = after.status.last_attempt ? after.status.last_attempt->reason : "";
  if (after.status.attempt > before.status.attempt + 1) breach("counts two attempts at once");
  const bool is_taken_back = after.status.attempt != before.status.attempt &&
                             after.status.last_attempt != before.status.last_attempt &&
                             reason == controller::kFailedCreate;
  if (is_taken_back) ++seen["base gang taken back"];
  if (is_taken_back && !was_refused_) breach("takes a gang back that was not refused for good");
  was_refused_ = false;
  if (after.spec.suspend || is_taken_back) return;
  const auto group = current_group(before);
  if (!group) return;
  const gang::GangStatus* base = gang::find_gang(group->status, gang::kBaseGang);
  const bool is_released = base != nullptr && gang::is_released(*base);
  if (is_released) ++seen["gang requeued unhealed"];
  if (is_released) return;  // it was not whole for too long: its running pods are deleted, too
  for (const LivePod* at : live_pods()) {
    const LivePod& pod = *at;
    const bool runs = pod.role == Role::kCoordinator && pod.pod.phase == kube::PodPhase::kRunning &&
                      !pod.pod.meta.deleting && !pod.pod.disruption_target &&
                      pod.pod.node_lost.empty();
    if (runs && pod.slot.pod_group_uid == group->meta.uid) {
      breach("ends an attempt whose coordinator runs: " + after.status.reason);
    }
  }
}

// No condition contradicts the cluster, or another one.
void Rules::check_conditions(const job::Job& job) {
  const auto is_true = [&](std::string_view type) { return controller::is_true(job.status, type); };
  const bool config_exists = has_config();
  const bool waits = !is_final(job.status.phase) && !current_group(job) && config_is_known_;
  if (config_exists && waits && is_true(controller::kAggregatorMissing)) {
    breach("AggregatorMissing is True although an AggregatorConfig exists");
  }
  if (is_true(controller::kRunning) != (job.status.phase == job::Phase::kRunning)) {
    breach("condition Running contradicts the phase");
  }
  const bool may_be_ready =
      job.status.phase == job::Phase::kRunning || job.status.phase == job::Phase::kSucceeded;
  if (is_true(controller::kReady) && !may_be_ready) {
    breach("Ready is True and the job neither runs nor has succeeded");
  }
  if (is_true(controller::kScheduled) && is_true(controller::kSuspended)) {
    breach("Scheduled and Suspended are both True");
  }
}

// ---- after every step

void Rules::look() {
  if (std::exchange(looked_at_, api_.resource_version()) == api_.resource_version()) return;
  std::map<std::pair<Role, int>, std::string> bound;
  const auto& groups = live_groups();
  for (const auto& [uid, group] : groups) {
    for (const auto& gang : group.status.gangs) {
      if (gang.committed && committed_.insert(uid + " " + gang.name).second) {
        ++seen[gang.name == gang::kBaseGang ? "base gang committed" : "growth gang committed"];
      }
    }
  }
  for (const LivePod* at : live_pods()) {
    const bool has_begun = at->pod.has_start_time || at->pod.is_finished();
    if (!has_begun || kube::was_taken_away(at->pod)) continue;
    begun_.emplace(at->slot.pod_group_uid, at->slot.role, at->slot.slot);
  }
  for (const LivePod* at : live_pods()) {
    const LivePod& live = *at;
    const SlotKey key{live.slot.pod_group_uid, live.role, live.slot.slot.ordinal};
    const bool is_live = is_unfinished(live.pod) && !live.pod.node.empty();
    if (is_live) {
      const auto [other, is_first] =
          bound.try_emplace({live.role, live.slot.slot.ordinal}, live.pod.meta.name);
      if (!is_first) {
        breach(fmt::format("pods {} and {} of one slot are both bound and live", other->second,
                           live.pod.meta.name));
      }
      const auto group = groups.find(live.slot.pod_group_uid);
      if (group != groups.end() && live.role == Role::kCoordinator &&
          fenced_.insert(live.pod.meta.uid).second) {
        check_fence(live, group->second);
      }
      if (group != groups.end()) {
        const auto* gang =
            gang::find_gang_with_slot(group->second.status, live.slot.role, live.slot.slot);
        if (gang != nullptr && !gang->committed) {
          breach(fmt::format("pod {} is bound and its gang is not committed", live.pod.meta.name));
        }
      }
    }
    const bool has_ended = live.pod.is_finished() && !live.pod.meta.deleting;
    const bool has_run = live.pod.phase == kube::PodPhase::kRunning || has_ended;
    if (live.role == Role::kCoordinator && has_run && !kube::was_taken_away(live.pod)) {
      coordinator_ran_.insert(live.slot.pod_group_uid);
    }
    const bool ended_itself = has_ended && !kube::was_taken_away(live.pod);
    const bool was_lowered = lowered_.count(live.pod.meta.uid) != 0;
    if (ended_itself && is_plain_worker(live.role) && !was_lowered && is_wanted_by_spec(live)) {
      ended_[key] = live.slot.slot.incarnation;
    }
  }
}

void Rules::check_fence(const LivePod& coordinator, const gang::PodGroup& group) {
  const auto* base = gang::find_gang(group.status, gang::kBaseGang);
  if (base == nullptr) return;
  for (const auto& placement : base->placements) {
    const bool is_direct = gang::is_direct(*base, placement);
    if (!is_direct || placement.role == to_string(Role::kCoordinator)) continue;
    ++seen["coordinator bound after a direct pod"];
    const auto sets = gang::all_sets(group.spec.gangs);
    const bool is_wanted = std::any_of(sets.begin(), sets.end(), [&](const auto& set) {
      const auto& slots = set.slots;
      return set.role == placement.role &&
             std::find(slots.begin(), slots.end(), placement.slot) != slots.end();
    });
    if (!is_wanted || begun_.count({group.meta.uid, placement.role, placement.slot}) != 0) continue;
    breach(fmt::format("{} is bound, and no kubelet has begun with {}/{}",
                       coordinator.pod.meta.name, placement.role, placement.slot.ordinal));
  }
}

// A pod removed by lowered base replicas can only come back as another pod.
bool Rules::is_wanted_by_spec(const LivePod& live) const {
  const auto job = live_job();
  if (!job) return false;
  return job::WantedSlots(*job, false).find(live.role, live.slot.slot.ordinal) != nullptr;
}

void Rules::at_rest() {
  look();
  check_names();
  const auto job = live_job();
  if (!job || is_final(job->status.phase)) return;
  config_is_known_ = true;
  check_conditions(*job);
  const auto group = current_group(*job);
  if (!group) return;
  check_gangs_are_whole(*job, *group);
  check_reserved_is_placed(*group);
  check_ends_are_counted(*job, *group);
}

void Rules::check_names() {
  std::multimap<std::string, std::string> wanted;
  std::multimap<std::string, std::string> found;
  const auto job = live_job();
  for (const Json& object : api_.list(kube::kPods, ns_)) {
    const kube::Pod pod = *controller::decode_pod(kube::to_text(object));
    const bool is_of_job = job && controller::owner_job_uid(pod.meta) == job->meta.uid;
    if (!is_of_job || !pod.is_named_by_namespace || pod.is_finished() || pod.ip.empty()) continue;
    wanted.emplace(pod.meta.name, pod.ip.str());
  }
  for (const Json& slice : api_.list(controller::kEndpointSlices, ns_)) {
    for (const Json& endpoint : slice["endpoints"]) {
      found.emplace(endpoint["hostname"], endpoint["addresses"][0]);
    }
  }
  if (found == wanted) return;
  breach(fmt::format("{} names resolve for {} pods", found.size(), wanted.size()));
}

// A pod on a node that went is in its place until it is marked. The job's own aggregator is no part
// of the quorum.
bool Rules::is_in_part(const gang::PodGroup& group, const gang::GangStatus& gang,
                       std::string& missing) const {
  int in_place = 0;
  const gang::Gang* wanted = gang::find_gang(group.spec, gang.name);
  if (wanted == nullptr) return false;
  for (const auto& set : wanted->members) {
    const bool is_own_aggregator =
        wanted->kind == gang::GangKind::kBase && set.role == to_string(Role::kAggregator);
    if (is_own_aggregator) continue;
    for (const auto slot : set.slots) {
      const bool is_there =
          std::any_of(known_pods_.begin(), known_pods_.end(), [&](const auto& entry) {
            const LivePod& pod = entry.second;
            return pod.slot.pod_group_uid == group.meta.uid && pod.slot.role == set.role &&
                   pod.slot.slot == slot && !pod.pod.node.empty() &&
                   !kube::was_taken_away(pod.pod) &&
                   (pod.pod.node_lost.empty() || pod.pod.is_finished());
          });
      in_place += is_there ? 1 : 0;
      if (!is_there) missing += fmt::format(" {}/{}", set.role, slot.ordinal);
    }
  }
  return in_place > 0 && !missing.empty();
}

// Only for the current attempt: an ended one is not healed.
void Rules::check_parts(SysTime now) {
  if (part_limit_.count() == 0) return;
  look();
  const auto job = live_job();
  const bool goes_on = job && !is_final(job->status.phase) && !job->spec.suspend;
  const auto group = goes_on ? current_group(*job) : std::nullopt;
  if (!group || group->meta.deleting) return parts_.clear();
  decltype(parts_) parts;
  for (const auto& gang : group->status.gangs) {
    std::string missing;
    if (!gang.committed || !is_in_part(*group, gang, missing)) continue;
    const std::pair key(group->meta.uid, gang.name);
    const auto known = parts_.find(key);
    SysTime since = known == parts_.end() ? now : known->second;
    ++seen["gang in part"];
    if (now - since > part_limit_) {
      breach(fmt::format("gang {} runs without{} since {}: {}, {}", gang.name, missing,
                         to_rfc3339(since), gang.reason, gang.message));
      since = now;
    }
    parts.emplace(key, since);
  }
  parts_ = std::move(parts);
}

void Rules::extender_was_started(SysTime now) {
  const auto& groups = live_groups();
  for (auto& [key, since] : parts_) {
    const auto group = groups.find(key.first);
    const auto* gang =
        group == groups.end() ? nullptr : gang::find_gang(group->second.status, key.second);
    if (gang == nullptr || !gang->healing_since) since = now;
  }
}

void Rules::check_gangs_are_whole(const job::Job& job, const gang::PodGroup& group) {
  std::set<std::pair<std::string, int>> there;
  for (const LivePod* at : live_pods()) {
    const LivePod& pod = *at;
    if (pod.slot.pod_group_uid != group.meta.uid || pod.pod.meta.deleting) continue;
    there.emplace(pod.slot.role, pod.slot.slot.ordinal);
  }
  const auto slots = wanted(job, group);
  std::map<std::string, std::pair<int, int>> counts;  // gang -> pods there, pods missing
  for (const auto& gang : group.spec.gangs) {
    auto& [is, lacks] = counts[gang.name];
    for (const auto& set : gang.members) {
      for (const auto slot : set.slots) {
        const auto* want = slots.find(*job::parse_role(set.role), slot.ordinal);
        if (want == nullptr || want->is_over) continue;
        ++(there.count({set.role, slot.ordinal}) != 0 ? is : lacks);
      }
    }
  }
  for (const auto& [gang, count] : counts) {
    if (count.first == 0 || count.second == 0) continue;
    breach(fmt::format("gang {} is left with {} of {} pods", gang, count.first,
                       count.first + count.second));
  }
}

void Rules::check_ends_are_counted(const job::Job& job, const gang::PodGroup& group) {
  const auto slots = wanted(job, group);
  for (const auto& [key, incarnation] : ended_) {
    const auto& [uid, role, ordinal] = key;
    const job::Slot slot{ordinal, incarnation};
    if (uid != group.meta.uid || slots.find(role, slot) == nullptr) continue;
    const bool is_counted = std::any_of(job.status.ended.begin(), job.status.ended.end(),
                                        [&, r = role](const auto& finished) {
                                          return finished.role == r && finished.slot == slot;
                                        });
    if (is_counted) continue;
    breach(fmt::format("the end of {}/{} is not counted", to_string(role), ordinal));
  }
}

}  // namespace nervex::testing
