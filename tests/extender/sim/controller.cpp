#include "tests/extender/sim/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/gang_builders.h"

namespace nervex::testing {
namespace {

constexpr int kPort = 8080;  // that PodGroups do not name
constexpr int kKnownPort = 9090;
constexpr std::chrono::seconds kBackOff{10};

std::string pod_name(const gang::PodGroup& group, const gang::Placement& placement) {
  return fmt::format("{}-{}-{}-{}", group.meta.name, placement.role, placement.slot.ordinal,
                     placement.slot.incarnation);
}

const gang::MemberSet* find_member_set(const gang::PodGroup& group,
                                       const gang::Placement& placement) {
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    if (gang::wants(set, placement.role, placement.slot)) return &set;
  }
  return nullptr;
}

// A pod of exactly this slot, in any state.
bool has_pod(const View& view, const gang::PodGroup& group, const std::string& role,
             gang::SlotId slot) {
  return std::any_of(view.pods().begin(), view.pods().end(), [&](const auto& entry) {
    const auto& pod_slot = entry.second.slot;
    return pod_slot && pod_slot->pod_group_uid == group.meta.uid && pod_slot->role == role &&
           pod_slot->slot == slot;
  });
}

void raise(std::vector<Member>& members, const std::string& role, int ordinal) {
  for (Member& set : members) {
    if (set.role != role) continue;
    for (gang::SlotId& slot : set.slots) {
      if (slot.ordinal == ordinal) ++slot.incarnation;
    }
  }
}

}  // namespace

// ---- users and nervex-server

const gang::PodGroup* Controller::any_group() {
  observer_.look();
  const auto& groups = observer_.view.groups();
  if (groups.empty()) return nullptr;
  return &std::next(groups.begin(), below(groups.size()))->second;
}

void Controller::add_group(const std::string& name, const gang::PodGroupSpec& spec) {
  if (!cluster_.api.get(kube::kPodGroups, kNamespace, name).is_null()) return;
  cluster_.api.add(kube::kPodGroups, kNamespace,
                   {{"apiVersion", gang::kApiVersion},
                    {"kind", gang::kKind},
                    {"metadata", {{"name", name}, {"namespace", kNamespace}}},
                    {"spec", gang::encode_spec(spec)}});
}

void Controller::set_members(const gang::PodGroup& group, const std::vector<Member>& members) {
  gang::PodGroupSpec spec = group.spec;
  spec.gangs = make_gangs(members);
  cluster_.api.change(kube::kPodGroups, kNamespace, group.meta.name,
                      {{"spec", gang::encode_spec(spec)}});
}

Member Controller::collectors(int id, int first, int count) const {
  Member set = in_request(a_set("collector", 0, ask(0, 2)), id);
  for (int i = 0; i < count; ++i) set.slots.push_back({first + i, 0});
  return set;
}

// A claim that is bound already to a volume of one zone, or one that waits for its first consumer.
std::string Controller::a_claim() {
  const int which = below(3);
  if (which < 2) return which == 0 ? "data-a" : "data-b";
  std::string name = fmt::format("late-{}", names_);
  if (cluster_.api.get(kube::kPersistentVolumeClaims, kNamespace, name).is_null()) {
    cluster_.api.add(kube::kPersistentVolumeClaims, kNamespace,
                     {{"apiVersion", "v1"},
                      {"kind", "PersistentVolumeClaim"},
                      {"metadata", {{"name", name}, {"namespace", kNamespace}}},
                      {"spec", Json::object()}});
  }
  return name;
}

std::vector<Member> Controller::some_members(int priority) {
  std::vector sets{a_set("coordinator", 1, ask(0, 1)),
                   a_set("learner", 1 + below(3), ask(1 + below(6), 2))};
  sets[0].bind_last = true;
  if (priority == 1 && below(2) == 0) sets[1] = on_port(std::move(sets[1]), kKnownPort);
  if (below(4) == 0) sets[1].shape.claims = {a_claim()};
  if (below(4) == 0) sets.push_back(a_set("aggregator", 1, ask(0, 1)));
  if (below(2) == 0) sets.push_back(collectors(1, 4096, 1 + below(2)));
  return sets;
}

void Controller::submit() {
  ++names_;
  const int priority = below(3);
  gang::PodGroupSpec spec = a_group("", some_members(priority), names_, priority).spec;
  // Not where a port is taken that the planner does not know of.
  spec.direct_placement = places_directly_ && priority != 2 && below(4) != 0;
  add_group(fmt::format("g{}", names_), spec);
  ++observer_.seen["job"];
}

void Controller::delete_group(const gang::PodGroup& group) {
  const std::string uid = group.meta.uid;
  cluster_.api.remove(kube::kPodGroups, kNamespace, group.meta.name);
  observer_.look();
  for (const auto& [pod_uid, pod] : std::map(observer_.view.pods())) {
    if (pod.slot && pod.slot->pod_group_uid == uid) delete_pod(pod);
  }
}

void Controller::end_job() {
  if (const auto* group = any_group()) delete_group(gang::PodGroup(*group));
}

// Its PodGroup is created again with the same name.
void Controller::begin_again(const gang::PodGroup& before) {
  const gang::PodGroup group = before;
  delete_group(group);
  gang::PodGroupSpec spec = group.spec;
  ++spec.attempt;
  std::erase_if(spec.gangs, [](const auto& one) { return one.kind != gang::GangKind::kBase; });
  for (gang::MemberSet& set : gang::all_sets(spec.gangs)) {
    for (gang::SlotId& slot : set.slots) slot.incarnation = 0;
  }
  add_group(group.meta.name, spec);
}

void Controller::take_back(const gang::PodGroup& group, const gang::GangStatus& gang) {
  ++observer_.seen[gang.committed ? "committed gang taken back" : "gang taken back"];
  if (gang.name == gang::kBaseGang) return begin_again(group);
  std::vector<Member> members;
  Requeued& requeued = requeued_[group.meta.uid].emplace_back();
  requeued.due = cluster_.clock.mono() + kBackOff;
  for (const Member& set : list_members(group)) {
    (set.gang.name == gang.name ? requeued.sets : members).push_back(set);
  }
  for (Member& set : requeued.sets) {
    (void)next_ordinal(group, set.role);  // what is outside keeps its ordinals
    for (gang::SlotId& slot : set.slots) ++slot.incarnation;
  }
  set_members(group, members);
}

void Controller::put_back_requeued(const gang::PodGroup& group) {
  const auto found = requeued_.find(group.meta.uid);
  if (found == requeued_.end()) return;
  std::vector<Member> members = list_members(group);
  const bool is_any_due = std::erase_if(found->second, [&](const Requeued& gang) {
                            if (gang.due > cluster_.clock.mono()) return false;
                            members.insert(members.end(), gang.sets.begin(), gang.sets.end());
                            return true;
                          }) > 0;
  if (is_any_due) set_members(group, members);
}

void Controller::requeue() {
  const auto* group = any_group();
  if (group == nullptr || group->status.gangs.empty()) return;
  const gang::PodGroup before = *group;
  take_back(before,
            before.status.gangs[static_cast<std::size_t>(below(before.status.gangs.size()))]);
}

int Controller::next_ordinal(const gang::PodGroup& group, const std::string& role) {
  int& last = highest_[{group.meta.uid, role}];
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    if (set.role != role) continue;
    for (const gang::SlotId slot : set.slots) last = std::max(last, slot.ordinal);
  }
  return ++last;
}

void Controller::reshape() {
  const auto* group = any_group();
  if (group == nullptr) return;
  std::vector<Member> members = list_members(*group);
  Member& set = members[1 + static_cast<std::size_t>(below(members.size() - 1))];
  const int next = next_ordinal(*group, set.role);
  auto& slots = set.slots;
  switch (below(3)) {
    case 0:
      if (slots.size() > 1) slots.pop_back();
      break;
    case 1:
      if (slots.size() < 5) slots.push_back({next, 0});
      break;
    default:
      ++slots[static_cast<std::size_t>(below(slots.size()))].incarnation;
  }
  set_members(*group, members);
}

void Controller::grow() {
  const auto* group = any_group();
  if (group == nullptr) return;
  std::vector<Member> members = list_members(*group);
  if (members.size() > 6) return;
  const int first = std::max(4096, next_ordinal(*group, "collector"));
  const int count = 1 + below(3);
  highest_[{group->meta.uid, "collector"}] = first + count;
  members.push_back(collectors(first, first, count));  // its id: no two alike
  set_members(*group, members);
}

// Mostly of committed gangs; it must be safe for any.
void Controller::merge() {
  observer_.look();
  for (const auto& [uid, group] : observer_.view.groups()) {
    std::vector<Member> members = list_members(group);
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto* gang = gang::find_gang(group.status, members[i].gang.name);
      const bool is_committed = gang != nullptr && gang->committed;
      if (members[i].role == "collector" && (is_committed || below(8) == 0)) some.push_back(i);
    }
    if (some.size() < 2) continue;
    Member& into = members[some[0]];
    const auto& moved = members[some[1]].slots;
    into.slots.insert(into.slots.end(), moved.begin(), moved.end());
    std::sort(into.slots.begin(), into.slots.end());
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(some[1]));
    ++observer_.seen["requests merged"];
    return set_members(group, members);
  }
}

void Controller::end_direct_placement() {
  const auto* group = any_group();
  if (group == nullptr || !group->spec.direct_placement) return;
  gang::PodGroupSpec spec = group->spec;
  spec.direct_placement = false;
  Json patch = gang::encode_spec(spec);
  patch["placement"] = nullptr;
  ++observer_.seen["direct placement ended"];
  cluster_.api.change(kube::kPodGroups, kNamespace, group->meta.name, {{"spec", patch}});
}

// ---- the controller

void Controller::reconcile() {
  observer_.look();
  std::vector<std::string> uids;
  for (const auto& [uid, group] : observer_.view.groups()) uids.push_back(uid);
  for (const std::string& uid : uids) {
    const auto group = observer_.view.groups().find(uid);
    if (group == observer_.view.groups().end()) continue;
    const gang::PodGroup now = group->second;
    put_back_requeued(now);
    observer_.look();
    if (observer_.view.groups().at(uid).spec != now.spec) continue;
    if (!requeue_unhealable(now) && !replace_lost(now)) create_pods(now);
    observer_.look();
  }
  for (const auto& [uid, pod] : std::map(observer_.view.pods())) {
    if (!pod.slot) continue;
    const auto group = observer_.view.groups().find(pod.slot->pod_group_uid);
    if (group == observer_.view.groups().end()) {
      delete_pod(pod);
      continue;
    }
    const auto& [group_uid, role, slot, number] = *pod.slot;
    const auto* placement = gang::find_placement(group->second.status, role, slot);
    const bool is_current = placement != nullptr && placement->number == number;
    const bool is_superseded = !pod.is_bound() && !is_current;
    if (!is_wanted(group->second, role, slot) || is_superseded) delete_pod(pod);
  }
  observer_.look();
}

bool Controller::requeue_unhealable(const gang::PodGroup& group) {
  for (const gang::GangStatus& gang : group.status.gangs) {
    if (gang.reason != gang::kReasonHealingTimeout) continue;
    ++observer_.seen["gang requeued unhealed"];
    take_back(group, gang);
    return true;  // the PodGroup is another one now
  }
  return false;
}

bool Controller::replace_lost(const gang::PodGroup& group) {
  std::set<std::pair<std::string, int>> lost;
  for (const auto& [uid, pod] : observer_.view.pods()) {
    if (!pod.slot || pod.slot->pod_group_uid != group.meta.uid) continue;
    const bool is_lost =
        pod.was_taken_away() || (pod.is_bound() && (pod.node_lost || pod.deleting));
    if (!is_lost || !is_wanted(group, pod.slot->role, pod.slot->slot)) continue;
    lost.emplace(pod.slot->role, pod.slot->slot.ordinal);
  }
  for (const gang::GangStatus& gang : group.status.gangs) {
    for (const gang::Placement& placement : gang.placements) {
      const bool is_gone = created_.count({group.meta.uid, placement.number}) > 0 &&
                           !has_pod(observer_.view, group, placement.role, placement.slot);
      if (is_gone && is_wanted(group, placement.role, placement.slot)) {
        lost.emplace(placement.role, placement.slot.ordinal);
      }
    }
  }
  if (lost.empty()) return false;
  ++observer_.seen["pod lost"];
  if (lost.count({"coordinator", 0}) > 0) {
    begin_again(group);
    return true;
  }
  std::vector<Member> members = list_members(group);
  for (const auto& [role, ordinal] : lost) raise(members, role, ordinal);
  set_members(group, members);
  return true;
}

void Controller::create_pods(const gang::PodGroup& group) {
  if (group.status.observed_generation != group.meta.generation) return;
  for (const gang::GangStatus& gang : group.status.gangs) {
    if (!gang.planned && !gang.committed) continue;
    const bool is_direct =
        group.spec.direct_placement && gang.committed && gang.name == gang::kBaseGang;
    bool others_are_there = true;
    for (const bool is_last : {false, true}) {
      for (const gang::Placement& placement : gang.placements) {
        const gang::MemberSet* set = find_member_set(group, placement);
        if (set == nullptr || set->bind_last != is_last) continue;
        if (is_last && !others_are_there) continue;
        if (!has_pod(observer_.view, group, placement.role, placement.slot)) {
          // It may be killed between any two.
          if (is_direct && below(8) == 0) return;
          create_pod(group, placement, *set,
                     is_direct && !is_last && gang::is_direct(gang, placement));
        }
        others_are_there =
            others_are_there && created_.count({group.meta.uid, placement.number}) > 0;
      }
    }
  }
}

void Controller::create_pod(const gang::PodGroup& group, const gang::Placement& placement,
                            const gang::MemberSet& set, bool has_node_name) {
  const std::string name = pod_name(group, placement);
  // Of an attempt before: it takes its leave.
  if (!cluster_.api.get(kube::kPods, kNamespace, name).is_null()) return;
  NewPod pod{.name = name,
             .scheduler = std::string(gang::kSchedulerName),
             .claims = set.shape.claims,
             .annotations = gang::annotations_for(
                 {group.meta.uid, placement.role, placement.slot, placement.number})};
  for (const auto& [resource, amount] : set.shape.requests.amounts()) {
    if (!kube::is_implicit(resource)) pod.requests.set(resource, amount);
    if (kube::is_implicit(resource)) pod.host_ports.push_back(kKnownPort);
  }
  if (placement.role == "coordinator" && group.spec.priority == 2) pod.host_ports.push_back(kPort);
  if (has_node_name) {
    pod.node = placement.node;
    ++observer_.seen["pod created on its node"];
  }
  cluster_.add_pod(pod);
  created_.emplace(group.meta.uid, placement.number);
}

// By force where no kubelet would confirm the end.
void Controller::delete_pod(const PodSeen& pod) {
  kube::DeleteOptions options;
  if (pod.node_lost) options.grace_period_seconds = 0;
  (void)kube::delete_object(cluster_.api, kube::kPods, kNamespace, pod.name, pod.uid, options);
}

}  // namespace nervex::testing
