#include "controller/decide/objects/pod_group.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/attempt/limits.h"
#include "controller/decide/attempt/previous_attempt.h"
#include "controller/decide/attempt/queueing.h"
#include "controller/decide/attempt/refused_nodes.h"
#include "controller/decide/attempt/templates_hash.h"
#include "controller/decide/objects/direct_placement.h"
#include "controller/decide/objects/merged_gangs.h"
#include "controller/decide/objects/pod_dry_run.h"
#include "controller/decide/round/pod_context.h"
#include "demand/gangs.h"
#include "demand/initial_gang.h"
#include "demand/member_set.h"
#include "demand/reserved_capacity.h"
#include "demand/run_limits.h"
#include "job/aggregator_config.h"
#include "job/names.h"
#include "kube/model/disruption.h"
#include "kube/model/merge_patch.h"

namespace nervex::controller {

namespace {

using job::Role;

class GangBuilder {
 public:
  GangBuilder(const Round& round, const job::PodContext& context)
      : job_(round.job),
        attempt_(round.attempt),
        context_(context),
        now_(round.seen.now),
        wanted_(round.slots),
        is_lost_(round.requests_lost),
        may_grow_(!round.exceeds_pod_limit),
        backing_off_(is_lost_ ? SlotNumbers{} : round.backing_off),
        base_is_committed_(is_base_committed(round.attempt)),
        reservation_{round.job.spec, base_is_committed_, has_reservation_ended(round)} {}

  std::vector<gang::Gang> build() {
    index_pods();
    if (attempt_.group == nullptr) {
      start();
    } else {
      for (const auto& gang : attempt_.group->spec.gangs) keep(gang);
    }
    const auto old = static_cast<std::ptrdiff_t>(attempt_.group == nullptr ? 0 : gangs_.size());
    for (const auto& slot : wanted_.all()) {
      const bool is_new = seen_.count({slot.role, slot.slot.ordinal}) == 0;
      if (is_new && may_be_added(slot)) add(slot);
    }
    if (!base_is_committed_) {
      gang::Gang& base = gangs_[find_or_add(demand::base_gang())];
      demand::add_reserving_sets(base, job_, reservation_, context_);
    }
    // The base gang, then added base replicas, then requests in the order of their arrival.
    std::stable_sort(gangs_.begin() + old, gangs_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.kind, a.request_id) < std::tie(b.kind, b.request_id);
    });
    // Else what is reserved stays: it was computed with replicas that the PodGroup lacks now.
    if (may_grow_ || reservation_.has_ended) {
      demand::reserve_capacity(gangs_, find_added(), reservation_);
    }
    if (attempt_.group != nullptr) {
      join_merged_gangs(gangs_, wanted_, pods_, attempt_.group->status);
    }
    for (auto& set : gang::all_sets(gangs_)) std::sort(set.slots.begin(), set.slots.end());
    for (auto& gang : gangs_) {
      std::erase_if(gang.members, [this](const auto& set) {
        return set.slots.empty() && set.reserved_pods == 0 && reserving_.count(set.name) == 0;
      });
    }
    std::erase_if(gangs_, [](const auto& gang) { return gang.members.empty(); });
    set_queued_since();
    return std::move(gangs_);
  }

 private:
  // Role and ordinal.
  using Number = std::pair<Role, int>;
  struct SetIndex {
    std::size_t gang = 0;  // of gangs_
    std::size_t set = 0;   // of its members
  };

  void index_pods() {
    for (const auto& pod : attempt_.pods) {
      pods_.emplace(pod.role, pod.slot);
      if (!has_ended(pod.state)) {
        live_.emplace(pod.role, pod.slot);
      } else if (pod.pod != nullptr && kube::was_taken_away(*pod.pod)) {
        stopped_.emplace(pod.role, pod.slot);
      }
    }
  }

  // An evicted pod gets no successor if another pod of its multi-GPU learner has finished: the
  // extender would wait for it.
  bool is_gone(const WantedSlot& slot) const {
    const std::pair key(slot.role, slot.slot);
    return slot.is_over && (pods_.count(key) == 0 || stopped_.count(key) != 0);
  }

  // As above, or its finished pod is kept. When its gang was requeued and comes again, a placement
  // would be kept for a pod that is never created.
  bool needs_no_place(const WantedSlot& slot) const {
    return slot.is_over && live_.count({slot.role, slot.slot}) == 0;
  }

  void start() {
    gangs_.push_back(demand::make_initial_gang(job_, wanted_, context_));
    for (std::size_t i = 0; i < gangs_.front().members.size(); ++i) {
      const gang::MemberSet& set = gangs_.front().members[i];
      set_at_.emplace(set.name, SetIndex{0, i});
      const Role role = *job::parse_role(set.role);
      for (const auto slot : set.slots) seen_.emplace(role, slot.ordinal);
    }
    gang_at_.emplace(gangs_.front().name, 0);
  }

  // An existing gang: the slots of its sets follow the job's spec, the sets' shapes stay.
  void keep(const gang::Gang& gang) {
    const std::size_t at = gangs_.size();
    gangs_.push_back({gang.name,
                      gang.kind,
                      gang.request_id,
                      gang.first_ordinal,
                      {},
                      gang.queued_since,
                      gang.preempt_after,
                      gang.start_check});
    for (const auto& set : gang.members) {
      if (demand::is_consistent(gang, set)) keep_set(at, set);
    }
    if (gangs_.back().members.empty()) {
      gangs_.pop_back();
    } else {
      gang_at_.emplace(gang.name, at);
    }
  }

  void keep_set(std::size_t at, const gang::MemberSet& set) {
    gang::Gang& gang = gangs_[at];
    if (!set_at_.emplace(set.name, SetIndex{at, gang.members.size()}).second) return;
    const Role role = *job::parse_role(set.role);
    gang::MemberSet kept = set;
    kept.bind_last = role == Role::kCoordinator;
    kept.heals_alone = demand::heals_alone(gang.kind, role);
    kept.slots.clear();
    const bool may_reserve = gang.kind == gang::GangKind::kBase && role != Role::kCoordinator;
    if (may_reserve && (set.reserved_pods > 0 || set.slots.empty())) reserving_.insert(set.name);
    for (const auto slot : set.slots) {
      const Number number(role, slot.ordinal);
      if (!seen_.insert(number).second || backing_off_.count(number) != 0) continue;
      if (const auto next = next_slot(role, slot)) kept.slots.push_back(*next);
    }
    gang.members.push_back(std::move(kept));
  }

  std::optional<gang::SlotId> next_slot(Role role, gang::SlotId slot) const {
    const WantedSlot* want = wanted_.find(role, slot.ordinal);
    if (want == nullptr) {
      const bool was_requested = slot.ordinal >= job::kFirstRequestedOrdinal;
      return is_lost_ && was_requested ? std::optional(slot) : std::nullopt;
    }
    if (is_gone(*want)) return std::nullopt;
    gang::SlotId next = slot_id(want->slot);
    if (is_lost_) next.incarnation = std::max(next.incarnation, slot.incarnation);
    return next;
  }

  // API changes of base pods are lost with the requests: they may have removed a missing base slot.
  bool may_be_added(const WantedSlot& slot) const {
    if (needs_no_place(slot)) return false;
    const bool is_base_replica =
        slot.entry() == nullptr && (slot.role == Role::kCollector || slot.role == Role::kLearner);
    const bool is_first = attempt_.group == nullptr;
    return !(is_lost_ && is_base_replica && !is_first) &&
           demand::has_templates(job_, slot, context_);
  }

  // Without sets.
  gang::Gang choose_gang(const WantedSlot& slot) {
    if (slot.entry() != nullptr) return demand::request_gang(slot.entry()->id);
    const bool is_single = slot.role == Role::kCoordinator || slot.role == Role::kAggregator;
    if (is_single || !base_is_committed_) return demand::base_gang();
    if (const auto* placed = find_placed_gang(slot)) {
      return placed->name == gang::kBaseGang ? demand::base_gang()
                                             : restore_added_replicas(slot.role, *placed);
    }
    const auto first = first_added_.try_emplace(slot.role, slot.slot.ordinal).first->second;
    return demand::added_replicas_gang(slot.role, first);
  }

  // The gang that has the slot's placement, if a user removed the slot from the spec.
  const gang::GangStatus* find_placed_gang(const WantedSlot& slot) {
    if (placed_gangs_.empty()) {
      for (const auto& gang : attempt_.group->status.gangs) {
        for (const auto& placement : gang.placements) {
          placed_gangs_.try_emplace({placement.role, placement.slot.ordinal}, &gang);
        }
      }
    }
    const auto at = placed_gangs_.find({to_string(slot.role), slot.slot.ordinal});
    return at == placed_gangs_.end() ? nullptr : at->second;
  }

  // A gang that the spec has lost gets its name again: from the job's status while it backs off,
  // else from the first ordinal for which the name is the same; its first replicas may be gone.
  gang::Gang restore_added_replicas(Role role, const gang::GangStatus& placed) const {
    for (const auto& requeued : job_.status.requeued_gangs) {
      if (requeued.name != placed.name || !requeued.added) continue;
      return demand::added_replicas_gang(requeued.added->role, requeued.added->first_ordinal);
    }
    int lowest = INT_MAX;
    for (const auto& placement : placed.placements) {
      if (placement.role == to_string(role)) lowest = std::min(lowest, placement.slot.ordinal);
    }
    for (int first = lowest; first >= 0; --first) {
      gang::Gang gang = demand::added_replicas_gang(role, first);
      if (gang.name == placed.name) return gang;
    }
    return demand::added_replicas_gang(role, lowest);
  }

  // It is no growth: the attempt needs it, it has or had pods, or its gang comes back after a
  // requeue.
  bool has_begun(const WantedSlot& slot, const gang::Gang& chosen) {
    const auto& requeued = job_.status.requeued_gangs;
    const bool is_single = slot.entry() == nullptr &&
                           (slot.role == Role::kCoordinator || slot.role == Role::kAggregator);
    return attempt_.group == nullptr || is_single || pods_.count({slot.role, slot.slot}) != 0 ||
           find_placed_gang(slot) != nullptr ||
           std::any_of(requeued.begin(), requeued.end(),
                       [&](const auto& entry) { return entry.name == chosen.name; });
  }

  std::size_t find_or_add(gang::Gang gang) {
    const auto [at, is_new] = gang_at_.try_emplace(gang.name, gangs_.size());
    if (is_new) gangs_.push_back(std::move(gang));
    return at->second;
  }

  void add(const WantedSlot& slot) {
    if (backing_off_.count({slot.role, slot.slot.ordinal}) != 0) return;
    gang::Gang chosen = choose_gang(slot);
    if (!may_grow_ && !has_begun(slot, chosen)) return;
    const auto [at, is_new] =
        set_at_.try_emplace(demand::set_name(chosen, slot.role, slot.part), SetIndex{});
    if (is_new) {
      const std::size_t index = find_or_add(std::move(chosen));
      gang::Gang& gang = gangs_[index];
      at->second = {index, gang.members.size()};
      gang.members.push_back(demand::make_member_set(job_, gang, slot, context_));
      added_.insert(at->first);
    }
    gangs_[at->second.gang].members[at->second.set].slots.push_back(slot_id(slot.slot));
  }

  // The sets of added_ outside the base gang, in the order of the gangs.
  std::vector<gang::MemberSet*> find_added() {
    std::vector<gang::MemberSet*> found;
    for (gang::Gang& gang : gangs_) {
      if (gang.kind == gang::GangKind::kBase) continue;
      for (gang::MemberSet& set : gang.members) {
        if (added_.count(set.name) != 0) found.push_back(&set);
      }
    }
    return found;
  }

  // A request whose entry was merged or lost keeps its time. Base replicas that are added wait
  // since then: with the age of their job they would be ahead of all that came since its creation.
  void set_queued_since() {
    std::map<std::int64_t, std::optional<SysTime>> requested_at;
    for (const auto& entry : job_.spec.requests.entries) {
      requested_at.emplace(entry.id, entry.requested_at);
    }
    for (gang::Gang& gang : gangs_) {
      if (gang.kind == gang::GangKind::kBase) {
        gang.queued_since.reset();
      } else if (gang.kind == gang::GangKind::kAddedReplicas) {
        gang.queued_since = find_added_since(gang);
      } else if (const auto at = requested_at.find(gang.request_id); at != requested_at.end()) {
        gang.queued_since = at->second;
      }
    }
  }

  // It keeps its time while it backs off, when the PodGroup does not have it. Not set: an older
  // version has made it.
  std::optional<SysTime> find_added_since(const gang::Gang& gang) const {
    const gang::Gang* before =
        attempt_.group == nullptr ? nullptr : gang::find_gang(attempt_.group->spec, gang.name);
    if (before != nullptr) return before->queued_since;
    for (const auto& requeued : job_.status.requeued_gangs) {
      if (requeued.name == gang.name && requeued.added) return requeued.added->queued_since;
    }
    return now_;
  }

  const job::Job& job_;
  const Attempt& attempt_;
  const job::PodContext& context_;
  const SysTime now_;
  const WantedSlots& wanted_;
  const bool is_lost_;
  const bool may_grow_;
  const SlotNumbers backing_off_;
  const bool base_is_committed_;
  const demand::Reservation reservation_;
  // Sets of the base gang that have reserved capacity, or had some: they stay as long as the
  // PodGroup does, since its status may still name them.
  std::set<std::string> reserving_;
  std::set<std::pair<Role, job::Slot>> pods_;
  std::set<std::pair<Role, job::Slot>> stopped_;  // of those, what did not end by itself
  std::set<std::pair<Role, job::Slot>> live_;     // of those, what has not ended
  std::set<Number> seen_;                         // what the sets of the PodGroup have named
  std::map<Role, int> first_added_;  // first ordinal of the gang of base replicas added now
  // The planner's gang of each role's ordinal; filled on first use.
  std::map<std::pair<std::string_view, int>, const gang::GangStatus*> placed_gangs_;
  std::vector<gang::Gang> gangs_;
  std::map<std::string, std::size_t, std::less<>> gang_at_;  // by name, until they are sorted
  std::map<std::string, SetIndex, std::less<>> set_at_;      // the same
  std::set<std::string, std::less<>> added_;                 // names of new sets
};

std::set<gang::SlotKey> collect_slots(const gang::PodGroupSpec& spec) {
  std::set<gang::SlotKey> slots;
  for (const auto& set : gang::all_sets(spec.gangs)) {
    for (const auto slot : set.slots) slots.emplace(set.role, slot);
  }
  return slots;
}

bool loses_slots(const gang::PodGroupSpec& before, const gang::PodGroupSpec& after) {
  const auto had = collect_slots(before);
  const auto has = collect_slots(after);
  return !std::includes(has.begin(), has.end(), had.begin(), had.end());
}

// A PodGroup keeps its place in the queue when its PriorityClass is deleted.
int queue_priority(const Round& round) {
  const bool is_unknown = !round.seen.priority.missing.empty() && round.attempt.group != nullptr;
  return is_unknown ? round.attempt.group->spec.priority : round.seen.priority.value;
}

// With other changes only: an older CustomResourceDefinition drops the field, and a write for it
// alone would be repeated in each round.
void set_preemption_policy(const Round& round, gang::PodGroupSpec& spec) {
  const gang::PodGroup* group = round.attempt.group;
  const bool is_known = round.seen.priority.missing.empty();
  const bool may_change = group == nullptr || (is_known && spec != group->spec);
  if (may_change) spec.never_preempts = round.seen.priority.never_preempts;
}

// The highest number seen. Written with other changes, and at once when the status has lost it: a
// separate write for each plan would cost the job's start a round trip.
std::int64_t highest_placement(const Round& round, const gang::PodGroupSpec& spec) {
  const gang::PodGroup& group = *round.attempt.group;
  std::int64_t highest = group.spec.highest_placement;
  for (const AttemptPod& pod : round.attempt.pods) highest = std::max(highest, pod.placement);
  const auto& created = round.seen.job.status.created_through;
  for (const auto& [gang, number] : created.gangs) {
    if (created.pod_group_uid == group.meta.uid) highest = std::max(highest, number);
  }
  const std::int64_t given_out = group.status.next_placement - 1;
  gang::PodGroupSpec same = spec;
  same.highest_placement = group.spec.highest_placement;
  const bool is_known = highest <= std::max(given_out, group.spec.highest_placement);
  return same == group.spec && is_known ? same.highest_placement : std::max(highest, given_out);
}

bool has_run_limits(const gang::PodGroupSpec& spec) {
  return spec.preemptible || spec.active_deadline_seconds || spec.grace_seconds;
}

void keep_run_limits(const gang::PodGroupSpec& before, gang::PodGroupSpec& spec) {
  spec.preemptible = before.preemptible;
  spec.active_deadline_seconds = before.active_deadline_seconds;
  spec.active_seconds = before.active_seconds;
  spec.grace_seconds = before.grace_seconds;
}

// `spec` has those of before. Where there were none, with other changes only: an older
// CustomResourceDefinition drops them, and a write for them alone would be repeated in each round.
// What has started stays preemptible, and its pods may have been made with a longer grace period:
// others have relied on both.
void set_run_limits(const Round& round, const job::PodContext& context, gang::PodGroupSpec& spec) {
  const gang::PodGroup* group = round.attempt.group;
  if (group != nullptr && !has_run_limits(group->spec) && spec == group->spec) return;
  demand::set_run_limits(round.job, context, spec);
  if (group == nullptr) return;
  const gang::PodGroupSpec& before = group->spec;
  // A field that an older definition drops while it keeps the others.
  gang::PodGroupSpec same = spec;
  same.active_seconds = before.active_seconds;
  if (same == before) spec.active_seconds = before.active_seconds;
  if (!is_base_committed(round.attempt)) return;
  spec.preemptible = spec.preemptible || before.preemptible;
  if (spec.grace_seconds && before.grace_seconds) {
    spec.grace_seconds = std::max(*spec.grace_seconds, *before.grace_seconds);
  }
}

// With other changes only: an older CustomResourceDefinition drops the field, and a write for it
// alone would be repeated in each round.
void set_preempt_after(const Round& round, gang::PodGroupSpec& spec) {
  const job::Status& status = round.job.status;
  const bool is_set = std::all_of(spec.gangs.begin(), spec.gangs.end(), [&](const auto& gang) {
    return gang.preempt_after == find_preempt_after(status, gang);
  });
  const gang::PodGroup* group = round.attempt.group;
  if (is_set || (group != nullptr && spec == group->spec)) return;
  for (gang::Gang& gang : spec.gangs) gang.preempt_after = find_preempt_after(status, gang);
}

// Slots whose last pod, or another pod of their replica, has finished on its own: a client asked
// for another one. With other changes only, as above: the slot's incarnation changes with it.
void set_growing(const Round& round, gang::PodGroupSpec& spec) {
  if (round.attempt.group == nullptr || spec == round.attempt.group->spec) return;
  std::set<std::pair<Role, int>> replicas;
  for (const auto& ended : round.job.status.ended) {
    const WantedSlot* next = round.slots.find(ended.role, ended.slot.ordinal);
    if (next == nullptr || next->slot.incarnation != ended.slot.incarnation + 1) continue;
    replicas.emplace(next->replica.role, next->replica.slot.ordinal);
  }
  for (gang::Gang& gang : spec.gangs) {
    for (gang::MemberSet& set : gang.members) {
      set.growing.clear();
      for (const gang::SlotId slot : set.slots) {
        const WantedSlot* want = round.slots.find(*job::parse_role(set.role), slot.ordinal);
        if (want == nullptr) continue;
        const job::Replica& replica = want->replica;
        const bool is_growing = replicas.count({replica.role, replica.slot.ordinal}) > 0;
        if (is_growing) set.growing.push_back(slot.ordinal);
      }
    }
  }
}

// PodGroups of an earlier version lack it. With other changes only, as above: an older
// CustomResourceDefinition drops it.
void add_topology_spread(const Round& round, const job::PodContext& context,
                         gang::PodGroupSpec& spec) {
  if (round.attempt.group == nullptr || spec == round.attempt.group->spec) return;
  for (gang::Gang& gang : spec.gangs) {
    for (gang::MemberSet& set : gang.members) {
      if (!set.shape.spread.empty()) continue;
      const bool is_requested = gang.kind == gang::GangKind::kRequest;
      demand::set_topology_spread(round.job, *job::parse_role(set.role), is_requested, context,
                                  set.shape);
    }
  }
}

// Who shares with others in a queue with fairUsers. Kubernetes' role `edit` may impersonate each
// ServiceAccount of its namespace, and create more: all of a namespace count as one user.
std::string fair_user(const std::string& submitted_by) {
  constexpr std::string_view kServiceAccount = "system:serviceaccount:";
  const std::size_t name = submitted_by.find(':', kServiceAccount.size());
  if (submitted_by.starts_with(kServiceAccount) && name != std::string::npos) {
    return submitted_by.substr(0, name) + ":*";
  }
  return std::string(first_bytes(submitted_by, job::kMaxUserBytes));
}

}  // namespace

gang::PodGroupSpec desired_spec(const Round& round, const job::PodContext& context) {
  gang::PodGroupSpec spec;
  spec.priority = queue_priority(round);
  spec.queue = round.job.spec.queue;
  spec.user = fair_user(kube::annotation(round.job.meta, job::kSubmittedByAnnotation));
  spec.attempt = round.job.status.attempt;
  spec.queued_since = place_in_queue(round.job, round.attempt.group);
  spec.gangs = GangBuilder(round, context).build();
  spec.direct_placement = wants_direct_placement(round, context);
  spec.avoid = inherited_avoid(round);
  const bool is_new = round.attempt.group == nullptr;
  for (gang::Gang& gang : spec.gangs) {
    if (gang.kind != gang::GangKind::kBase) continue;
    gang.start_check = check_start(round, gang);
    if (is_new) continue;
    for (gang::MemberSet& set : gang.members) set.admitted = admitted_pod(round, set);
  }
  if (!is_new) {
    spec.never_preempts = round.attempt.group->spec.never_preempts;
    keep_run_limits(round.attempt.group->spec, spec);
    spec.highest_placement = highest_placement(round, spec);
  }
  set_preemption_policy(round, spec);
  set_run_limits(round, context, spec);
  set_preempt_after(round, spec);
  set_growing(round, spec);
  add_topology_spread(round, context, spec);
  return spec;
}

Json pod_group_manifest(const Round& round, const gang::PodGroupSpec& spec) {
  const job::Job& job = round.job;
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
            {"annotations",
             {{gang::kTemplatesAnnotation,
               templates_hash(job.spec, round.seen.aggregator_config.get())}}},
            {"ownerReferences", Json::array({kube::encode_controller_ref(owner)})}}},
          {"spec", gang::encode_spec(spec)}};
}

std::int64_t count_pods(const gang::PodGroupSpec& spec) {
  std::int64_t pods = 0;
  for (const gang::MemberSet& set : gang::all_sets(spec.gangs)) {
    pods += static_cast<std::int64_t>(set.slots.size()) + set.reserved_pods;
  }
  return pods;
}

bool finds_no_space(const Round& round) {
  const GroupPodCount& now = round.seen.group_pods;
  const auto* group = round.attempt.group;
  if (now.has_space(kMaxGroupPods) || round.seen.job.meta.deleting || !may_begin(round.seen) ||
      is_final(round.seen.job.status.phase)) {
    return false;
  }
  if (group == nullptr) {
    if (follows_attempt(round.seen.job.status)) return false;
    const auto slots = static_cast<std::int64_t>(round.slots.all().size());
    if (!now.has_space(slots)) return true;
  }
  const std::int64_t more = count_pods(desired_spec(round, pod_context(round))) -
                            (group == nullptr ? 0 : count_pods(group->spec));
  return more > 0 && !now.has_space(more);
}

std::optional<std::chrono::milliseconds> time_until_pod_limit(const Round& round) {
  constexpr std::chrono::minutes kPeriod{1};
  if (!round.exceeds_pod_limit) return std::nullopt;
  return kPeriod;
}

Actions group_steps(const Round& round) {
  const job::PodContext context = pod_context(round.seen, round.attempt);
  if (round.attempt.group == nullptr) {
    const bool waits =
        job::waits_for_aggregator(round.job.spec, round.seen.aggregator_config != nullptr);
    if (waits || round.attempt.name_is_held || waits_for_priority_class(round)) return {};
    if (round.exceeds_pod_limit) return {};
    if (pod_in_the_way(round) != nullptr) return {};
    const gang::PodGroupSpec spec = desired_spec(round, context);
    return {CreatePodGroup{pod_group_manifest(round, spec), count_pods(spec),
                           follows_attempt(round.seen.job.status)}};
  }
  const kube::Meta& meta = round.attempt.group->meta;
  // Only this version: a commit that was not seen yet makes a newer one.
  if (is_made_in_vain(round)) {
    return {DeletePodGroups{{Target{meta.name, meta.uid, false, meta.resource_version}}}};
  }
  const gang::PodGroupSpec spec = desired_spec(round, context);
  if (spec == round.attempt.group->spec) return {};
  return {PatchPodGroup{meta.name, meta.uid, meta.resource_version,
                        kube::merge_patch_between(gang::encode_spec(round.attempt.group->spec),
                                                  gang::encode_spec(spec)),
                        count_pods(spec), round.exceeds_pod_limit,
                        loses_slots(round.attempt.group->spec, spec)}};
}

}  // namespace nervex::controller
