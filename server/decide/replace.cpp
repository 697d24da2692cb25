#include "server/decide/replace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "job/names.h"
#include "server/decide/ordinals.h"

namespace nervex::server {
namespace {

using job::Role;
using PodKey = std::pair<Role, int>;  // role, ordinal

// "" if the text is a plain name.
std::string_view namespace_in(std::string_view url) {
  const auto dot = url.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view rest = url.substr(dot + 1);
  return rest.substr(0, rest.find(':'));
}

// Resolves the names of one job's pods.
class ReplicaNames {
 public:
  ReplicaNames(const ReplicaNames&) = delete;
  ReplicaNames& operator=(const ReplicaNames&) = delete;
  explicit ReplicaNames(const JobView& view) : view_(view), requests_(normalized_requests(view)) {
    for (const Role role : {Role::kCollector, Role::kLearner}) {
      for (const auto& replica : job::wanted_replicas(view.job, role)) replicas_.push_back(replica);
    }
    for (const auto& replica : replicas_) {
      for (const auto& pod : job::replica_pods(replica))
        by_pod_[{pod.role, pod.slot.ordinal}] = &replica;
    }
  }

  struct Resolved {
    bool is_known = false;                  // the name belongs, or belonged, to the job
    const job::Replica* replica = nullptr;  // its current replica, if any
    int seen = -1;  // the incarnation in the name; -1: of a released ordinal
  };

  Resolved resolve(std::string_view text) const {
    const std::string_view pod = pod_in(text);
    const auto named = decode(text);
    if (!named) return {};
    if (is_single(*named)) return {.is_known = true};
    if (const auto* replica = find(named->role, named->slot.ordinal)) {
      // A future incarnation has no name, unless the counts were lost.
      if (named->slot.incarnation > replica->slot.incarnation && !exists(pod)) return {};
      return {true, replica, named->slot.incarnation};
    }
    if (const auto* replica = find_moved(*named)) return {true, replica};
    return {.is_known = was_used(*named) || exists(pod)};
  }

  // The slot that the name would have; nullopt: not a name of this job's pods.
  std::optional<job::NamedSlot> decode(std::string_view text) const {
    const std::string_view ns = namespace_in(text);
    if (!ns.empty() && ns != view_.job.meta.ns) return std::nullopt;
    return job::slot_of_pod_name(view_.job, pod_in(text));
  }

 private:
  static bool is_single(const job::NamedSlot& named) {
    return named.role == Role::kCoordinator ||
           (named.role == Role::kAggregator && named.slot.ordinal == 0);
  }

  const job::Replica* find(Role role, int ordinal) const {
    const auto at = by_pod_.find({role, ordinal});
    return at == by_pod_.end() ? nullptr : at->second;
  }

  bool exists(std::string_view pod) const {
    return std::any_of(view_.pods.begin(), view_.pods.end(),
                       [pod](const PodPtr& one) { return one->meta.name == pod; });
  }

  // The replica under its newest ordinal; nullptr: not moved, or removed since.
  const job::Replica* replica_at_end(const job::MovedReplica& moved) const {
    int ordinal = moved.to;
    for (const auto& next : requests_.moved) {  // in order of their moves
      if (next.role == moved.role && next.from == ordinal) ordinal = next.to;
    }
    const auto* plain = find(moved.role, ordinal);
    return plain != nullptr ? plain : find(Role::kAggregator, ordinal);
  }

  const job::Replica* find_moved(const job::NamedSlot& named) const {
    const Role role = named.role == Role::kCollector ? Role::kCollector : Role::kLearner;
    for (const auto& moved : requests_.moved) {
      if (moved.role != role) continue;
      const job::Replica* replica = replica_at_end(moved);
      if (replica == nullptr) continue;
      const int ordinals = replica->entry != nullptr ? job::count_ordinals(*replica->entry) : 1;
      const int offset = named.slot.ordinal - moved.from;
      if (offset >= 0 && offset < ordinals) return replica;
    }
    return nullptr;
  }

  // Whether the job ever had such an ordinal, according to its records.
  bool was_used(const job::NamedSlot& named) const {
    const auto& [role, slot] = named;
    const auto& status = view_.job.status;
    if (slot.ordinal >= job::kFirstContinuedOrdinal) {  // of an earlier attempt
      const int next = role == Role::kCollector ? status.next_continued_collector
                                                : status.next_continued_learner;
      return slot.ordinal < std::max(next, next_ordinal(requests_, role));
    }
    if (slot.ordinal >= job::kFirstRequestedOrdinal) {
      return slot.ordinal < next_ordinal(requests_, role);
    }
    const auto is_same = [&](const auto& one) {
      return one.role == named.role && one.slot.ordinal == named.slot.ordinal;
    };
    return std::any_of(requests_.base.begin(), requests_.base.end(), is_same) ||
           std::any_of(status.replaced.begin(), status.replaced.end(), is_same) ||
           std::any_of(status.ended.begin(), status.ended.end(), is_same);
  }

  const JobView& view_;
  const job::Requests requests_;
  std::vector<job::Replica> replicas_;
  std::map<PodKey, const job::Replica*> by_pod_;
};

Error never_known(const job::Job& job, const std::string& name) {
  return {Code::kNotFound,
          fmt::format("{}: was never a replica of nervexjob {}", name, job.meta.key())};
}

class Replacement {
 public:
  Replacement(const JobView& view, const std::string& coordinator)
      : job_(view.job),
        aggregator_port_(view.aggregator_port),
        change_{normalized_requests(view), {view.job.meta.ns, coordinator, {}, {}}, false} {}

  Result<Nothing> apply(job::Replica replica, int seen) {
    if (seen >= replica.slot.incarnation) {
      change_.changes = true;
      const auto moved =
          job::has_name(job_, replica.role, {replica.slot.ordinal, seen + 1})
              ? raise(replica, seen + 1)
              : move_to_fresh_ordinal(change_.requests, job_.status.attempt, replica);
      if (!moved) return moved.error();
      replica.slot = *moved;
    }
    const job::ReplicaPod addressed = addressed_pod(replica);
    add_address(change_.answer, job_, addressed.role, addressed.slot, aggregator_port_);
    return ok();
  }

  Change finish() && { return std::move(change_); }

 private:
  // Returns the replica's new slot.
  Result<job::Slot> raise(const job::Replica& replica, int incarnation) {
    const job::Slot next{replica.slot.ordinal, incarnation};
    set(replica, next);
    return next;
  }

  void set(const job::Replica& replica, job::Slot slot) {
    const int attempt = job_.status.attempt;
    if (replica.entry == nullptr) {
      change_base(change_.requests, {attempt, replica.role, slot, false});
    } else if (auto* stored =
                   find_slot(change_.requests, replica.role, attempt, replica.slot.ordinal)) {
      *stored = slot;
    }
  }

  const job::Job& job_;
  const int aggregator_port_;
  Change change_;
};

// The named replicas, each once, in order of first mention and with the latest incarnation in any
// of its names.
Result<std::vector<ReplicaNames::Resolved>> named_replicas(const ReplicaNames& names,
                                                           const job::Job& job,
                                                           const ReplaceRequest& request) {
  std::vector<ReplicaNames::Resolved> replicas;
  std::map<const job::Replica*, std::size_t> places;
  for (const auto* list : {&request.collectors, &request.learners}) {
    for (const auto& name : *list) {
      const ReplicaNames::Resolved resolved = names.resolve(name);
      if (!resolved.is_known) return never_known(job, name);
      if (resolved.replica == nullptr) continue;
      const auto [place, is_new] = places.emplace(resolved.replica, replicas.size());
      if (is_new) replicas.push_back(resolved);
      int& seen = replicas[place->second].seen;
      seen = std::max(seen, resolved.seen);
    }
  }
  return replicas;
}

}  // namespace

Result<Change> replace(const JobView& view, const ReplaceRequest& request) {
  const ReplicaNames names(view);
  const auto replicas = named_replicas(names, view.job, request);
  if (!replicas) return replicas.error();
  Replacement replacement(view, request.coordinator);
  for (const auto& named : *replicas) {
    if (const auto taken = replacement.apply(*named.replica, named.seen); !taken)
      return taken.error();
  }
  return std::move(replacement).finish();
}

std::vector<std::string> unknown_pods(const JobView& view, const ReplaceRequest& request) {
  const ReplicaNames names(view);
  std::vector<std::string> unknown;
  for (const auto* list : {&request.collectors, &request.learners}) {
    for (const auto& name : *list) {
      if (names.decode(name) && !names.resolve(name).is_known) unknown.emplace_back(pod_in(name));
    }
  }
  return unknown;
}

}  // namespace nervex::server
