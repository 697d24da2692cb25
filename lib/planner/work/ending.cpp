#include "planner/work/ending.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "gang/slot.h"
#include "planner/work/queue_use.h"
#include "queue/settled.h"

namespace nervex::planner {
namespace {

// Until the grace period of a pod ends: others wait for its capacity no longer than this.
constexpr std::chrono::seconds kHorizon{300};
// After the grace period of a pod: its kubelet does not answer, or it has a finalizer.
constexpr std::chrono::seconds kLatePod{60};
// After a gang was released.
constexpr std::chrono::seconds kLateRequeue{300};
// From then on there is another reason: the gang alone is not requeued.
constexpr std::chrono::seconds kForgottenRequeue{3'600};
// One job alone may have a reason of its own.
constexpr std::size_t kMostNeglected = 1;

// It was marked, not only in this cycle.
bool is_marked(const GangWork& gang) {
  return gang.is_preempted() && gang.before != nullptr &&
         gang.before->reason == gang::kReasonPreempted;
}

// A gang that was released then should have been requeued by now.
bool is_late(const gang::GangStatus& released, SysTime now) {
  return released.since + kLateRequeue <= now;
}

// Takes the requests from `left`, or as much of them as there is: pods may request more than
// counts.
kube::Resources take(kube::Resources& left, const kube::Resources& requests) {
  kube::Resources taken;
  for (const auto& [resource, amount] : requests.amounts()) {
    taken.set(resource, std::min(amount, left.get(resource)));
  }
  left -= taken;
  return taken;
}

}  // namespace

queue::FindClass find_classes(const Snapshot& snapshot) {
  return [&snapshot](std::string_view node) -> std::string_view {
    const auto at = snapshot.nodes.find(node);
    if (!at) return {};
    const auto& labels = snapshot.nodes.node(*at).labels;
    const auto label = labels.find(snapshot.facts.class_label);
    return label == labels.end() ? std::string_view() : std::string_view(label->second.str());
  };
}

void set_class_requests(queue::Workload& workload, const gang::PodGroup& group,
                        const queue::OtherUses* uses, const Snapshot& snapshot) {
  if (!snapshot.facts.tree().uses_classes()) return;
  queue::count_classes(workload, group, uses, find_classes(snapshot));
}

bool ends_wholly(const gang::GangStatus& released) {
  return released.name == gang::kBaseGang || released.reason != gang::kReasonHealingTimeout;
}

bool is_same_start(const GangWork& gang, const gang::Victim& victim) {
  return std::any_of(gang.placed.begin(), gang.placed.end(), [&](const PlacedSlot& slot) {
    return slot.placement.number != 0 && slot.placement.number <= victim.through;
  });
}

Ending::Ending(const CycleFacts& facts, const CycleWork& work, const GangWork* spares_victims_of)
    : snapshot_(facts.snapshot), now_(facts.now) {
  for (const kube::PodPtr& pod : snapshot_.terminating) {
    const auto slot = gang::pod_slot(*pod);
    if (slot) terminating_[slot->pod_group_uid].emplace(slot->placement, pod->meta.ns);
  }
  Victims victims;
  for (const GroupWork* group : work.groups) {
    for (const GangWork& gang : group->gangs) {
      if (&gang == spares_victims_of) continue;
      for (const gang::Victim& victim : gang.victims) {
        victims.emplace(
            std::pair<std::string_view, std::string_view>(victim.pod_group_uid, victim.gang),
            &victim);
      }
    }
  }
  for (const GroupWork* group : work.groups) add_gangs(*group, victims);
}

// It was marked long ago, and its pods run on.
bool Ending::is_neglected(const GroupWork& group, const GangWork& gang) const {
  return is_marked(gang) && is_late(*gang.before, now_) &&
         gang.before->since + kForgottenRequeue > now_ &&
         std::none_of(gang.placed.begin(), gang.placed.end(), [&](const PlacedSlot& slot) {
           return is_terminating(*group.seen->group, slot.placement.number);
         });
}

void Ending::add_gangs(const GroupWork& group, const Victims& victims) {
  const std::string_view uid = group.seen->group->meta.uid;
  const auto ends = [&](const GangWork& gang) {
    const auto victim = victims.find({uid, gang.name});
    return victim != victims.end() && is_same_start(gang, *victim->second);
  };
  const auto is_released = [&](const gang::GangStatus* gang) {
    return gang != nullptr && gang::is_released(*gang) && ends_wholly(*gang) &&
           !is_late(*gang, now_);
  };
  const bool is_job_released =
      group.is_drained || is_released(gang::find_gang(group.seen->group->status, gang::kBaseGang));
  const bool is_job_victim = std::any_of(
      group.gangs.begin(), group.gangs.end(),
      [&](const GangWork& gang) { return gang.kind == gang::GangKind::kBase && ends(gang); });
  for (const GangWork& gang : group.gangs) {
    if (!gang.is_stored_committed()) continue;
    if (is_neglected(group, gang)) neglected_.insert(group.seen->group->meta.key());
    const bool is_ending =
        is_job_released || is_job_victim || is_released(gang.before) || ends(gang);
    if (!is_ending) continue;
    gangs_.push_back({&group, &gang});
    names_.emplace(uid, gang.name);
  }
}

bool Ending::is_requeue_late() const { return neglected_.size() > kMostNeglected; }

bool Ending::ends_job(const GroupWork& group) const {
  const gang::PodGroup& object = *group.seen->group;
  if (group.is_drained || has(object.meta.uid, gang::kBaseGang)) return true;
  for (const GangWork& gang : group.gangs) {
    if (gang.kind != gang::GangKind::kBase || gang.before == nullptr) continue;
    if (gang::is_released(*gang.before)) return true;
    for (const PlacedSlot& slot : gang.placed) {
      const std::int64_t number = slot.placement.number;
      const bool is_stopped =
          std::any_of(gang.open.begin(), gang.open.end(), [&](const OpenSlot* open) {
            return open->is_stopped() && open->placement.number == number;
          });
      const bool is_over =
          is_stopped || group.seen->finished.count(number) > 0 || is_terminating(object, number);
      if (slot.set->bind_last && is_over) return true;
    }
  }
  return false;
}

bool Ending::is_about_to_end(const kube::Pod& pod) const {
  const SysTime end = pod.deletion_timestamp;
  return end <= now_ + kHorizon && end + kLatePod > now_;
}

Ledger Ending::lend_to(Ledger ledger) const {
  for (const kube::PodPtr& pod : snapshot_.terminating) {
    if (is_about_to_end(*pod)) ledger.lend(pod->requests, pod->node.str());
  }
  for (const auto& [group, gang] : gangs_) {
    for (const PlacedSlot& slot : gang->placed) {
      const std::int64_t number = slot.placement.number;
      const bool is_free = group->seen->finished.count(number) > 0;
      if (is_free || is_terminating(*group->seen->group, number)) continue;
      ledger.lend(*slot.set, slot.placement.node);
    }
    if (gang->kind != gang::GangKind::kBase) continue;
    for (const gang::ReservedCapacity& reserved : group->reserved.places()) {
      const gang::MemberSet* set = gang::find_set(group->seen->group->spec, reserved.set);
      for (int i = 0; set != nullptr && i < reserved.count; ++i) ledger.lend(*set, reserved.node);
    }
  }
  return ledger;
}

Ending::Counted Ending::list_counted() const {
  Counted counted;
  const auto add = [&](const gang::PodGroup& group) {
    if (group.meta.deleting || terminating_.count(group.meta.uid) == 0) return;
    counted.emplace(std::pair<std::string_view, std::string_view>(group.meta.uid, group.meta.ns),
                    queue::list_counted_slots(group));
  };
  for (const GroupSeen& seen : snapshot_.groups) add(*seen.group);
  for (const RunningGroup& one : snapshot_.running) add(*one.group);
  return counted;
}

void Ending::remove_from(queue::Usage& usage) const {
  const queue::QueueTree& tree = snapshot_.facts.tree();
  const queue::FindClass find_class = find_classes(snapshot_);
  const auto remove = [&](const GroupWork& group, const GangWork& gang) {
    const queue::Workload workload = make_used_workload(group, gang, snapshot_.facts, find_class);
    if (workload.requests.empty() && !gang.is_assumed()) return;  // as count_use()
    usage.remove(tree, queue::find_home(tree, workload), workload);
  };
  for (const auto& [group, gang] : gangs_) {
    remove(*group, *gang);
    if (gang->kind != gang::GangKind::kBase) continue;
    for (const GangWork& request : group->gangs) {
      if (!request.is_stored_committed()) remove(*group, request);
    }
  }
  // Pods that do not count with a PodGroup count by themselves, also those that go on
  // (cleanPodPolicy: None).
  if (snapshot_.facts.orphaned.empty()) return;
  const Counted counted = list_counted();
  std::map<std::string_view, queue::Workload> orphaned;  // what is left of them
  for (const queue::Workload& one : snapshot_.facts.orphaned) orphaned.emplace(one.id, one);
  for (const kube::PodPtr& pod : snapshot_.terminating) {
    const auto slot = gang::pod_slot(*pod);
    if (!slot || !is_about_to_end(*pod)) continue;
    const std::string& ns = pod->meta.ns;
    const auto known = counted.find({slot->pod_group_uid, ns});
    if (known != counted.end() && queue::contains(known->second, slot->role, slot->slot.ordinal)) {
      continue;
    }
    const auto at = orphaned.find(ns + "/" + slot->pod_group_uid);
    if (at == orphaned.end()) continue;
    queue::Workload workload;
    workload.queue = at->second.queue;
    const kube::Resources ending = take(at->second.requests, pod->requests);
    queue::add_requests(workload.requests, ending);
    queue::add_requests(workload.class_requests, find_class(pod->node.str()), ending);
    usage.remove(tree, queue::find_home(tree, workload), workload);
  }
}

std::set<std::string> find_neglected(const CycleFacts& facts, const CycleWork& work) {
  const bool is_any = std::any_of(work.groups.begin(), work.groups.end(), [&](const auto* group) {
    return std::any_of(group->gangs.begin(), group->gangs.end(), [&](const GangWork& gang) {
      return is_marked(gang) && is_late(*gang.before, facts.now);
    });
  });
  return is_any ? Ending(facts, work).neglected() : std::set<std::string>();
}

}  // namespace nervex::planner
