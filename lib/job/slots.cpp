#include "job/slots.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "job/names.h"

namespace nervex::job {
namespace {

// Changes to one role's slots, by ordinal.
struct Changes {
  std::map<int, int> incarnations;  // minimum incarnation
  std::set<int> removed;            // base replicas

  Slot apply(Slot slot) const {
    const auto at = incarnations.find(slot.ordinal);
    if (at != incarnations.end()) slot.incarnation = std::max(slot.incarnation, at->second);
    return slot;
  }
  void raise(Slot slot) {
    int& incarnation = incarnations[slot.ordinal];
    incarnation = std::max(incarnation, slot.incarnation);
  }
};

Changes collect_changes(const Job& job, Role role) {
  Changes changes;
  for (const auto& change : job.spec.requests.base) {
    if (change.role != role || change.attempt != job.status.attempt) continue;
    changes.raise(change.slot);
    if (is_removed(job, change)) {
      changes.removed.insert(change.slot.ordinal);
    } else if (change.removed) {  // it returns as another pod: the removed one may still be ending
      changes.raise({change.slot.ordinal, change.slot.incarnation + 1});
    }
  }
  for (const auto& replaced : job.status.replaced) {
    if (replaced.role == role) changes.raise(replaced.slot);
  }
  return changes;
}

std::vector<Replica> collect_replicas(const Job& job, Role role, bool with_names) {
  const auto& spec = role_spec(job.spec, role);
  std::vector<Replica> replicas;
  if (!spec || !spec->pod_template.is_object()) return replicas;
  const Changes changes = collect_changes(job, role);
  const auto add = [&](Slot slot, const RequestEntry* entry) {
    if (has_name(job, role, slot) == with_names) replicas.push_back({role, slot, entry});
  };
  for (int ordinal = 0; ordinal < spec->replicas; ++ordinal) {
    if (changes.removed.count(ordinal) == 0) add(changes.apply({ordinal, 0}), nullptr);
  }
  for (const auto& entry : job.spec.requests.entries) {
    if (entry.role != role || entry.attempt != job.status.attempt) continue;
    for (const Slot written : entry.slots) add(changes.apply(written), &entry);
  }
  std::stable_sort(replicas.begin(), replicas.end(), [](const Replica& a, const Replica& b) {
    return a.slot.ordinal < b.slot.ordinal;
  });
  return replicas;
}

int base_replicas(const Job& job, Role role) {
  const auto& spec = role_spec(job.spec, role);
  return spec ? spec->replicas : 0;
}

}  // namespace

bool is_removed(const Job& job, const BaseChange& change) {
  if (!change.removed || change.attempt != job.status.attempt) return false;
  if (change.id == 0) return true;
  return change.replicas == base_replicas(job, change.role) &&
         change.id > (change.role == Role::kCollector ? job.status.returned_collector
                                                      : job.status.returned_learner);
}

std::int64_t returned_through(const Job& job, Role role) {
  const auto& status = job.status;
  std::int64_t last =
      role == Role::kCollector ? status.returned_collector : status.returned_learner;
  for (const auto& change : job.spec.requests.base) {
    if (change.role != role || !change.removed || is_removed(job, change)) continue;
    last = std::max(last, change.id);
  }
  return last;
}

int count_removed(const Job& job, Role role) {
  const auto& base = job.spec.requests.base;
  return static_cast<int>(std::count_if(base.begin(), base.end(), [&](const auto& change) {
    return change.role == role && change.slot.ordinal < base_replicas(job, role) &&
           is_removed(job, change);
  }));
}

Slot current_slot(const Job& job, Role role, Slot slot) {
  return collect_changes(job, role).apply(slot);
}

std::vector<Replica> wanted_replicas(const Job& job, Role role) {
  return collect_replicas(job, role, true);
}

std::vector<Replica> exhausted_replicas(const Job& job, Role role) {
  return collect_replicas(job, role, false);
}

std::vector<ReplicaPod> replica_pods(const Replica& replica) {
  if (replica.entry == nullptr || !is_multi_gpu(*replica.entry))
    return {{replica.role, replica.slot, 0, 0}};
  std::vector<ReplicaPod> pods = {{Role::kAggregator, replica.slot, 0, 0}};
  Slot slot = replica.slot;
  int rank = 0;
  for (const int gpus : replica.entry->gpu_split) {
    pods.push_back({Role::kDdpLearner, slot, gpus, rank});
    ++slot.ordinal;
    rank += gpus;
  }
  return pods;
}

std::optional<DdpPlace> place_of_ddp_learner(const RequestEntry& entry, Slot slot) {
  const auto& split = entry.gpu_split;
  for (const Slot learner : entry.slots) {
    const int index = slot.ordinal - learner.ordinal;
    if (index < 0 || index >= static_cast<int>(split.size())) continue;
    return DdpPlace{{learner.ordinal, slot.incarnation},
                    index,
                    split[static_cast<std::size_t>(index)],
                    std::accumulate(split.begin(), split.begin() + index, 0),
                    std::accumulate(split.begin(), split.end(), 0)};
  }
  return std::nullopt;
}

int count_ordinals(const RequestEntry& entry) {
  return std::max(1, static_cast<int>(entry.gpu_split.size()));
}

}  // namespace nervex::job
