#include "controller/decide/pod_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "controller/decide/attempt.h"
#include "controller/decide/direct_placement.h"
#include "controller/decide/limits.h"
#include "controller/decide/pod_dry_run.h"
#include "controller/decide/previous_attempt.h"
#include "controller/decide/reserved_capacity.h"
#include "job/names.h"
#include "kube/model/anti_affinity.h"
#include "kube/model/disruption.h"
#include "kube/model/merge_patch.h"
#include "kube/model/volume.h"

namespace nervex::controller {

namespace {

using job::Role;

// Pods that keep apart from each other, by implicit resources, or together.
void add_affinity_of_pods(const Json& spec, std::string_view ns, const Json& labels,
                          gang::PodShape& shape) {
  const auto terms = [&spec](std::string_view kind) -> const Json& {
    return kube::array_at(spec,
                          {"affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"});
  };
  kube::Labels texts;
  for (const auto& [key, value] : labels.items()) {
    if (value.is_string()) texts.emplace_back(key, value.get_ref<const std::string&>());
  }
  for (const auto& resource : kube::self_anti_affinity(terms("podAntiAffinity"), ns, texts)) {
    shape.requests.set(resource, 1);
  }
  shape.together = kube::self_affinity(terms("podAffinity"), ns, texts);
}

class Members {
 public:
  Members(const Round& round, const job::PodContext& context)
      : job_(round.job),
        attempt_(round.attempt),
        context_(context),
        wanted_(round.slots),
        is_lost_(round.requests_lost),
        backing_off_(is_lost_ ? SlotNumbers{} : round.backing_off),
        base_is_committed_(is_base_committed(round.attempt)),
        reservation_{round.job.spec, base_is_committed_, has_hold_ended(round)} {}

  std::vector<gang::MemberSet> follow() {
    for (const auto& pod : attempt_.pods) {
      pods_.emplace(pod.role, pod.slot);
      if (!has_ended(pod.state)) {
        live_.emplace(pod.role, pod.slot);
      } else if (pod.pod != nullptr && kube::was_taken_away(*pod.pod)) {
        stopped_.emplace(pod.role, pod.slot);
      }
    }
    if (attempt_.group != nullptr) {
      for (const auto& set : attempt_.group->spec.members) keep(set);
    }
    const auto old = static_cast<std::ptrdiff_t>(sets_.size());
    for (const auto& slot : wanted_.all()) {
      if (seen_.count({slot.role, slot.slot.ordinal}) == 0 && may_be_added(slot)) add(slot);
    }
    add_reserving_sets();
    // The gang that the job starts with, then added base replicas, then requests in the order they
    // came.
    std::stable_sort(sets_.begin() + old, sets_.end(),
                     [](const auto& a, const auto& b) { return rank(a.name) < rank(b.name); });
    reserve_capacity(sets_, static_cast<std::size_t>(old), reservation_);
    if (attempt_.group != nullptr) join_merged_gangs(sets_, wanted_, pods_, attempt_.group->status);
    for (auto& set : sets_) std::sort(set.slots.begin(), set.slots.end());
    std::erase_if(sets_, [this](const auto& set) {
      return set.slots.empty() && set.reserved_pods == 0 && reserving_.count(set.name) == 0;
    });
    return std::move(sets_);
  }

 private:
  // Role and ordinal.
  using Number = std::pair<Role, int>;

  static std::pair<int, std::int64_t> rank(std::string_view name) {
    const auto known = parse_set_name(name);
    if (known->gang == gang::kBaseGang) return {0, 0};
    if (is_added_base(*known)) return {1, 0};
    return {2, known->id};
  }

  // What was evicted beside a pod of its multi-GPU learner that has finished gets no successor: the
  // extender would wait for one.
  bool is_gone(const WantedSlot& slot) const {
    const std::pair key(slot.role, slot.slot);
    return slot.is_over && (pods_.count(key) == 0 || stopped_.count(key) != 0);
  }

  // As above, or its pod has finished and is kept. When its gang was taken back and comes again, a
  // place for it would be kept for a pod that nobody makes.
  bool needs_no_place(const WantedSlot& slot) const {
    return slot.is_over && live_.count({slot.role, slot.slot}) == 0;
  }

  // A set that is there: its slots follow what is wanted, its shape stays.
  void keep(const gang::MemberSet& set) {
    const auto known = parse_set_name(set.name);
    if (!known || set_at_.count(set.name) != 0) return;  // somebody else's hand
    gang::MemberSet kept = set;
    kept.gang = known->gang;
    kept.role = to_string(known->role);
    kept.bind_last = known->role == Role::kCoordinator;
    kept.heals_alone = heals_alone(*known);
    kept.slots.clear();
    if (may_reserve(*known) && (set.reserved_pods > 0 || set.slots.empty())) {
      reserving_.insert(set.name);
    }
    for (const auto slot : set.slots) {
      const Number number(known->role, slot.ordinal);
      if (!seen_.insert(number).second || backing_off_.count(number) != 0) continue;
      if (const auto next = next_of(known->role, slot)) kept.slots.push_back(*next);
    }
    set_at_.emplace(kept.name, sets_.size());
    sets_.push_back(std::move(kept));
  }

  std::optional<gang::SlotId> next_of(Role role, gang::SlotId slot) const {
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

  // What the API did to base pods is lost with the requests: a base slot that is not there may
  // have been removed by it.
  bool may_be_added(const WantedSlot& slot) const {
    if (needs_no_place(slot)) return false;
    const bool is_base_replica =
        slot.entry() == nullptr && (slot.role == Role::kCollector || slot.role == Role::kLearner);
    const bool is_first = attempt_.group == nullptr;
    return !(is_lost_ && is_base_replica && !is_first) && can_be_made(slot);
  }

  // A multi-GPU learner needs the templates of its aggregator and of its learners.
  bool can_be_made(const WantedSlot& slot) const {
    const bool is_multi_gpu = slot.entry() != nullptr && job::is_multi_gpu(*slot.entry());
    const auto has_template = [&](Role role) {
      return !job::template_of(job_, role, context_).is_null();
    };
    if (is_multi_gpu) return has_template(Role::kAggregator) && has_template(Role::kDdpLearner);
    return has_template(slot.role) || slot.role == Role::kCoordinator;
  }

  // That of a multi-GPU learner is a part of it.
  static bool heals_alone(const SetName& name) {
    return name.gang == gang::kBaseGang && name.role == Role::kAggregator;
  }
  static bool may_reserve(const SetName& name) {
    return name.gang == gang::kBaseGang && name.role != Role::kCoordinator;
  }

  // A role may have capacity reserved and no base replica; aggregators, and no AggregatorConfig.
  void add_reserving_sets() {
    if (base_is_committed_) return;
    for (const Role role : {Role::kCollector, Role::kLearner}) {
      if (reserved_replicas(reservation_, role) > 0) add_reserving_set(role);
    }
    const auto learner = set_at_.find(base_set_name(Role::kLearner).set);
    const bool needs_aggregators = learner != set_at_.end() &&
                                   reserved_replicas(reservation_, Role::kLearner) > 0 &&
                                   has_several_gpus(sets_[learner->second]);
    if (needs_aggregators) add_reserving_set(Role::kAggregator);
  }

  void add_reserving_set(Role role) {
    const SetName name = base_set_name(role);
    if (set_at_.count(name.set) != 0 || job::template_of(job_, role, context_).is_null()) return;
    set_at_.emplace(name.set, sets_.size());
    sets_.push_back(new_set(name, {role, {}, {role, {}, nullptr}, 0, false}));
  }

  SetName name_for(const WantedSlot& slot) {
    if (slot.entry() != nullptr) return request_set_name(slot);
    const bool is_single = slot.role == Role::kCoordinator || slot.role == Role::kAggregator;
    if (is_single || !base_is_committed_) return base_set_name(slot.role);
    if (const auto before = name_before(slot)) return *before;
    return added_base_sets_
        .try_emplace(slot.role, added_base_set_name(slot.role, slot.slot.ordinal))
        .first->second;
  }

  // Where the planner knows the slot from: somebody took it out of the spec by hand.
  std::optional<SetName> name_before(const WantedSlot& slot) {
    if (gangs_before_.empty()) {
      for (const auto& of : attempt_.group->status.gangs) {
        for (const auto& placement : of.placements) {
          gangs_before_.try_emplace({placement.role, placement.slot.ordinal}, of.name);
        }
      }
    }
    const auto at = gangs_before_.find({to_string(slot.role), slot.slot.ordinal});
    if (at == gangs_before_.end()) return std::nullopt;
    return at->second == gang::kBaseGang ? base_set_name(slot.role) : parse_set_name(at->second);
  }

  void add(const WantedSlot& slot) {
    if (backing_off_.count({slot.role, slot.slot.ordinal}) != 0) return;
    const SetName name = name_for(slot);
    const auto [at, is_new] = set_at_.try_emplace(name.set, sets_.size());
    if (is_new) sets_.push_back(new_set(name, slot));
    sets_[at->second].slots.push_back(slot_id(slot.slot));
  }

  gang::MemberSet new_set(const SetName& name, const WantedSlot& slot) const {
    // With the ports that the controller declares: in a node's own network they are host ports.
    const Json spec = job::pod_spec_with_ports(job_, slot.role, slot.slot, slot.entry(), context_);
    gang::MemberSet set;
    set.name = name.set;
    set.gang = name.gang;
    set.role = to_string(slot.role);
    set.shape.requests = kube::pod_requests(spec);
    add_affinity_of_pods(spec, job_.meta.ns.str(), job::labels_of(job_, slot.role, context_),
                         set.shape);
    set.shape.constraints = kube::constraints_of(spec);
    set.bind_last = slot.role == Role::kCoordinator;
    set.heals_alone = heals_alone(name);
    set.shape.claims = kube::claims_of(spec);
    return set;
  }

  const job::Job& job_;
  const Attempt& attempt_;
  const job::PodContext& context_;
  const WantedSlots& wanted_;
  const bool is_lost_;
  const SlotNumbers backing_off_;
  const bool base_is_committed_;
  const Reservation reservation_;
  // Sets of the base gang that have reserved capacity, or had some: they stay as long as the
  // PodGroup does, since its status may still name them.
  std::set<std::string> reserving_;
  std::set<std::pair<Role, job::Slot>> pods_;
  std::set<std::pair<Role, job::Slot>> stopped_;  // of those, what did not end by itself
  std::set<std::pair<Role, job::Slot>> live_;     // of those, what has not ended
  std::set<Number> seen_;                         // what the sets of the PodGroup have named
  std::map<Role, SetName> added_base_sets_;
  // Which gang the planner knows a role's ordinal from; filled when it is first asked for.
  std::map<std::pair<std::string_view, int>, std::string_view> gangs_before_;
  std::vector<gang::MemberSet> sets_;
  std::map<std::string, std::size_t, std::less<>> set_at_;  // by name, until they are sorted
};

std::set<gang::SlotKey> slots_of(const gang::PodGroupSpec& spec) {
  std::set<gang::SlotKey> slots;
  for (const auto& set : spec.members) {
    for (const auto slot : set.slots) slots.emplace(set.role, slot);
  }
  return slots;
}

bool loses_slots(const gang::PodGroupSpec& before, const gang::PodGroupSpec& after) {
  const auto had = slots_of(before);
  const auto has = slots_of(after);
  return !std::includes(has.begin(), has.end(), had.begin(), had.end());
}

// A PodGroup keeps its place in the queue when the PriorityClass is deleted under it.
int priority_of(const Round& round) {
  const bool is_unknown = !round.seen.priority.missing.empty() && round.attempt.group != nullptr;
  return is_unknown ? round.attempt.group->spec.priority : round.seen.priority.value;
}

}  // namespace

namespace {

// The highest number that was seen, written with other changes, and at once when the status has
// lost it: a write of its own for each plan would cost the job's start a round trip.
std::int64_t highest_placement(const Round& round, const gang::PodGroupSpec& spec) {
  const gang::PodGroup& group = *round.attempt.group;
  std::int64_t highest = group.spec.highest_placement;
  for (const AttemptPod& of : round.attempt.pods) highest = std::max(highest, of.placement);
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

}  // namespace

gang::PodGroupSpec desired_spec(const Round& round, const job::PodContext& context) {
  gang::PodGroupSpec spec;
  spec.priority = priority_of(round);
  spec.attempt = round.job.status.attempt;
  spec.queued_since = place_in_queue(round.job, round.attempt.group);
  spec.members = Members(round, context).follow();
  spec.direct_placement = wants_direct_placement(round, context);
  if (round.attempt.group == nullptr) return spec;
  for (gang::MemberSet& set : spec.members) set.admitted = admitted_pod(round, set);
  spec.highest_placement = highest_placement(round, spec);
  return spec;
}

namespace {

// Equal for what admission takes for the same (is_same() of job/validate_update.cpp): a member that
// is null is as good as none, and 1.0 is 1.
std::uint64_t hash_of(const Json& value, std::uint64_t hash) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      if (member.is_null()) continue;
      hash = hash_of(member, fnv1a(kube::to_text(Json(key)) + ":", hash));
    }
    return fnv1a("}", hash);
  }
  if (value.is_array()) {
    for (const Json& item : value) hash = fnv1a(",", hash_of(item, hash));
    return fnv1a("]", hash);
  }
  if (value.is_number_float()) {
    constexpr double kExact = 1LL << 53;
    const auto number = value.get<double>();
    const bool is_whole = std::abs(number) < kExact && number == std::trunc(number);
    if (is_whole) return fnv1a(kube::to_text(Json(static_cast<std::int64_t>(number))), hash);
  }
  return fnv1a(kube::to_text(value), hash);
}

constexpr std::string_view kHashVersion = "1";
constexpr std::string_view kNoTemplate = "-";
constexpr std::string_view kWaitsForTemplate = "?";
constexpr std::size_t kAggregatorPart = 5;  // versions up to 0.2 wrote none

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t space = text.find(' '); space != text.npos; space = text.find(' ')) {
    words.push_back(text.substr(0, space));
    text.remove_prefix(space + 1);
  }
  words.push_back(text);
  return words;
}

}  // namespace

namespace {

std::string part_of(const Json& made_of) {
  return made_of.is_null() ? std::string(kNoTemplate)
                           : fmt::format("{:016x}", hash_of(made_of, fnv1a("")));
}

// Capacity for aggregators of multi-GPU learners (reserved_capacity.h).
bool may_reserve_aggregators(const job::Spec& spec) {
  if (!spec.learner || spec.learner->reserved_replicas <= spec.learner->replicas) return false;
  const Json* pod = kube::find(spec.learner->pod_template.get(), {"spec"});
  return pod != nullptr && kube::pod_requests(*pod).get("nvidia.com/gpu") > 1;
}

std::string aggregator_part(const job::Spec& spec, const AggregatorConfig* config) {
  if (waits_for_aggregator(spec, config != nullptr)) return std::string(kWaitsForTemplate);
  const bool has_place = wants_aggregator(spec, config != nullptr) || may_reserve_aggregators(spec);
  return part_of(config != nullptr && has_place ? config->pod_template.get() : Json());
}

}  // namespace

std::string templates_hash(const job::Spec& spec, const AggregatorConfig* config) {
  const auto of_role = [&](const std::optional<job::RoleSpec>& role) {
    return part_of(role ? role->pod_template.get() : Json());
  };
  return fmt::format("{} {} {} {} {} {}", kHashVersion, part_of(spec.volumes),
                     part_of(spec.coordinator_template), of_role(spec.collector),
                     of_role(spec.learner), aggregator_part(spec, config));
}

bool has_other_templates(std::string_view planned, std::string_view now, bool is_committed) {
  const auto before = words_of(planned);
  const auto after = words_of(now);
  if (before.front() != kHashVersion) return false;
  if (before.size() < kAggregatorPart || before.size() > after.size()) return false;
  for (std::size_t i = 1; i < before.size(); ++i) {
    const bool matters = !is_committed || (before[i] != kNoTemplate && i != kAggregatorPart);
    if (before[i] != after[i] && matters) return true;
  }
  return false;
}

Json pod_group_manifest(const Round& round, const job::PodContext& context) {
  const job::Job& job = round.job;
  const kube::OwnerRef owner{std::string(job::kApiVersion), std::string(job::kKind), job.meta.name,
                             job.meta.uid};
  return {
      {"apiVersion", gang::kApiVersion},
      {"kind", gang::kKind},
      {"metadata",
       {{"name", job::pod_group_name(job, job.status.attempt)},
        {"namespace", job.meta.ns},
        {"labels",
         {{job::kGroupLabel, job::kGroupLabelValue},
          {job::kJobLabel, job.meta.name},
          {job::kControllerLabel, job::kControllerLabelValue}}},
        {"annotations",
         {{kTemplatesAnnotation, templates_hash(job.spec, round.seen.aggregator_config.get())}}},
        {"ownerReferences", Json::array({kube::encode_controller_ref(owner)})}}},
      {"spec", gang::encode_spec(desired_spec(round, context))}};
}

Actions group_steps(const Round& round) {
  const job::PodContext context = pod_context(round.seen, round.attempt);
  if (round.attempt.group == nullptr) {
    const bool waits =
        waits_for_aggregator(round.job.spec, round.seen.aggregator_config != nullptr);
    if (waits || round.attempt.name_is_held || waits_for_priority_class(round)) return {};
    if (pod_in_the_way(round) != nullptr) return {};
    return {CreatePodGroup{pod_group_manifest(round, context)}};
  }
  const kube::Meta& meta = round.attempt.group->meta;
  // In this version alone: a commit that is not seen yet makes another one.
  if (is_made_in_vain(round)) {
    return {DeletePodGroups{{Target{meta.name, meta.uid, false, meta.resource_version}}}};
  }
  const gang::PodGroupSpec spec = desired_spec(round, context);
  if (spec == round.attempt.group->spec) return {};
  return {PatchPodGroup{meta.name, meta.uid, meta.resource_version,
                        kube::merge_patch_between(gang::encode_spec(round.attempt.group->spec),
                                                  gang::encode_spec(spec)),
                        loses_slots(round.attempt.group->spec, spec)}};
}

namespace {

// The sets of one request's gang, by role and part: "-collector", "-ddp-learner-1".
struct RequestGang {
  std::map<std::string_view, gang::MemberSet*> sets;
  std::optional<std::int64_t> entry;  // of all its slots; nullopt: none has one, or they differ
  bool is_mixed = false;
};

// By the id in their names: the oldest first.
using Gangs = std::map<std::int64_t, RequestGang>;

void see_entry(RequestGang& gang, const gang::MemberSet& set, job::Role role,
               const WantedSlots& wanted) {
  for (const auto& slot : set.slots) {
    const WantedSlot* want = wanted.find(role, slot.ordinal);
    if (want == nullptr || want->entry() == nullptr) {
      gang.is_mixed = true;
    } else if (!gang.entry) {
      gang.entry = want->entry()->id;
    } else {
      gang.is_mixed = gang.is_mixed || gang.entry != want->entry()->id;
    }
  }
}

Gangs gangs_of(std::vector<gang::MemberSet>& sets, const WantedSlots& wanted) {
  Gangs gangs;
  for (auto& set : sets) {
    const auto name = parse_set_name(set.name);
    if (!name || name->id == 0 || set.slots.empty()) continue;
    RequestGang& gang = gangs[name->id];
    gang.sets[std::string_view(set.name).substr(set.gang.size())] = &set;
    see_entry(gang, set, name->role, wanted);
  }
  return gangs;
}

using Pods = std::set<std::pair<job::Role, job::Slot>>;

bool is_settled(const RequestGang& gang, const Pods& pods, const gang::PodGroupStatus& status) {
  const auto* known = gang::find_gang(status, gang.sets.begin()->second->gang);
  if (known == nullptr || !known->committed || !known->planned) return false;
  std::set<gang::SlotKey> placed;
  for (const auto& placement : known->placements) placed.emplace(placement.role, placement.slot);
  return std::all_of(gang.sets.begin(), gang.sets.end(), [&](const auto& part) {
    const gang::MemberSet& set = *part.second;
    return std::all_of(set.slots.begin(), set.slots.end(), [&](const gang::SlotId slot) {
      const job::Slot of{slot.ordinal, slot.incarnation};
      return placed.count({set.role, slot}) != 0 &&
             pods.count({*job::parse_role(set.role), of}) != 0;
    });
  });
}

bool are_alike(const RequestGang& a, const RequestGang& b) {
  return std::equal(a.sets.begin(), a.sets.end(), b.sets.begin(), b.sets.end(),
                    [](const auto& one, const auto& other) {
                      return one.first == other.first && one.second->shape == other.second->shape;
                    });
}

void move_slots(RequestGang& from, RequestGang& to) {
  for (auto& [part, set] : from.sets) {
    auto& slots = to.sets.at(part)->slots;
    slots.insert(slots.end(), set->slots.begin(), set->slots.end());
    set->slots.clear();
  }
}

}  // namespace

void join_merged_gangs(std::vector<gang::MemberSet>& sets, const WantedSlots& wanted,
                       const Pods& pods, const gang::PodGroupStatus& status) {
  Gangs gangs = gangs_of(sets, wanted);
  std::map<std::int64_t, std::vector<RequestGang*>> by_entry;
  for (auto& [id, gang] : gangs) {
    if (gang.entry && !gang.is_mixed) by_entry[*gang.entry].push_back(&gang);
  }
  for (auto& [entry, same] : by_entry) {
    if (same.size() < 2) continue;     // as nearly always: nothing was merged
    std::vector<RequestGang*> oldest;  // one for each shape
    for (RequestGang* gang : same) {
      if (!is_settled(*gang, pods, status)) continue;
      const auto target =
          std::find_if(oldest.begin(), oldest.end(),
                       [gang](const RequestGang* other) { return are_alike(*gang, *other); });
      if (target == oldest.end()) {
        oldest.push_back(gang);
      } else {
        move_slots(*gang, **target);
      }
    }
  }
}

// -- names of sets and gangs

namespace {

using job::Role;

// Takes `prefix` and digits off the front; false if they are not there.
bool take_number(std::string_view& text, std::string_view prefix, std::int64_t& number) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  const char* begin = text.data() + prefix.size();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc{} || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return true;
}

// "base-collector-4", or as versions before the first release wrote it.
std::optional<std::int64_t> parse_first_ordinal(std::string_view name, Role role) {
  for (const std::string_view kind : {"base", "floor"}) {
    std::string_view rest = name;
    std::int64_t first = 0;
    if (take_number(rest, fmt::format("{}-{}-", kind, to_string(role)), first) && rest.empty()) {
      return first;
    }
  }
  return std::nullopt;
}

std::optional<SetName> parse_added_base(std::string_view name) {
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    if (parse_first_ordinal(name, role)) {
      return SetName{std::string(name), std::string(name), role, 0};
    }
  }
  return std::nullopt;
}

std::string request_gang(std::int64_t id) { return fmt::format("{}{}", job::kRequestGang, id); }

std::optional<SetName> parse_request(std::string_view name) {
  std::string_view rest = name;
  std::int64_t id = 0;
  if (!take_number(rest, job::kRequestGang, id)) return std::nullopt;
  const std::string gang = request_gang(id);
  std::int64_t part = 0;
  if (take_number(rest, "-ddp-learner-", part)) {
    if (!rest.empty()) return std::nullopt;
    return SetName{std::string(name), gang, Role::kDdpLearner, id};
  }
  for (const Role role : {Role::kCollector, Role::kLearner, Role::kAggregator}) {
    if (rest == fmt::format("-{}", to_string(role))) {
      return SetName{std::string(name), gang, role, id};
    }
  }
  return std::nullopt;
}

}  // namespace

SetName base_set_name(Role role) {
  return {std::string(to_string(role)), std::string(gang::kBaseGang), role, 0};
}

SetName added_base_set_name(Role role, int first_ordinal) {
  const std::string name = fmt::format("base-{}-{}", to_string(role), first_ordinal);
  return {name, name, role, 0};
}

SetName request_set_name(const WantedSlot& slot) {
  const std::string gang = request_gang(slot.entry()->id);
  std::string name = fmt::format("{}-{}", gang, to_string(slot.role));
  if (slot.role == Role::kDdpLearner) name += fmt::format("-{}", slot.part);
  return {std::move(name), gang, slot.role, slot.entry()->id};
}

bool is_added_base(const SetName& name) { return name.gang == name.set; }

int first_ordinal_of(const SetName& added) {
  return static_cast<int>(parse_first_ordinal(added.gang, added.role).value_or(0));
}

std::optional<SetName> parse_gang_name(std::string_view name) {
  if (auto added = parse_added_base(name)) return added;
  std::string_view rest = name;
  std::int64_t id = 0;
  if (!take_number(rest, job::kRequestGang, id) || !rest.empty()) return std::nullopt;
  return SetName{"", std::string(name), Role::kCoordinator, id};
}

std::optional<SetName> parse_set_name(std::string_view name) {
  for (const Role role :
       {Role::kCoordinator, Role::kAggregator, Role::kCollector, Role::kLearner}) {
    if (name == to_string(role)) return base_set_name(role);
  }
  if (auto added = parse_added_base(name)) return added;
  return parse_request(name);
}

}  // namespace nervex::controller
