// extender/observe/bind_cache.h - what do filter, holds and binds read from the cluster cache, and
// what do they reserve there?
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "extender/observe/parts/cluster_state.h"
#include "planner/bind/bind_view.h"

namespace nervex::extender {

// A bind call for a foreign gang's pod that is about to be sent.
struct ForeignBind {
  kube::PodPtr pod;
  std::string node;
};

// Thread-safe.
class BindCache {
 public:
  explicit BindCache(ClusterState& state) : state_(state) {}

  // ---- filter and holds

  planner::SlotSeen slot_seen(const gang::PodSlot& slot) const;
  // Cost: slots of the PodGroup x log(slots).
  planner::GangSeen gang_seen(const std::string& uid, std::string_view gang) const;
  // Those of the named nodes that have reserved capacity.
  std::vector<planner::ReservedNode> reserved_nodes(const std::vector<std::string>& names) const;
  // Gangs of other operators, by "namespace/name" of their PodGroup.
  planner::ForeignPodSeen foreign_seen(const std::string& gang) const;
  planner::ForeignHoldSeen foreign_hold(const std::string& gang) const;
  // A bind call for a pod of this slot has arrived and may be held: its plan makes progress. Only
  // this replica knows it.
  void note_bind_call(const gang::PodSlot& slot);

  // ---- the commit: the first bind of a gang

  // One of several callers gets `Commit`, if check_commit() agrees; the gang's capacity counts as
  // committed from then on, and end_commit() must follow. The others wait for it and get its error,
  // if any; callers for other gangs of the PodGroup wait until it has ended. kNotFound: the
  // PodGroup was deleted.
  struct Committed {};
  struct Commit {
    gang::PodGroupPtr group;
  };
  using CommitStep = std::variant<Committed, Commit>;
  Result<CommitStep> begin_commit(const std::string& uid, const std::string& gang);
  enum class Outcome { kKnown, kUnconfirmed };
  // Waiting callers get the error of `result`, or check again. If unconfirmed, the gang's capacity
  // stays committed until the PodGroup was read.
  void end_commit(const std::string& uid, const std::string& gang, const Result<Nothing>& result,
                  Outcome outcome);
  // The API server's reply to one of our writes or live reads. Resolves an unconfirmed write if its
  // resourceVersion differs from the one that was to be replaced.
  void fold(gang::PodGroup group) { state_.fold(std::move(group)); }

  // ---- the bind of a pod

  // Two pods for one slot may be in bind at the same time: only the one that assumes the slot may
  // continue. Returns the other pod, if any. An assumption ends when its pod is seen bound or
  // deleted, or is missing in a later list, with forget(), or with its PodGroup. Until then the
  // pod's capacity on `node` stays reserved, even if its placement is released meanwhile. Assuming
  // the same pod again restarts the bind.
  // kTransient: a status that takes the placement away may be stored, now or when its write is
  // repeated.
  Result<std::optional<planner::NamedPod>> assume(const gang::PodSlot& slot, const kube::Pod& pod,
                                                  const std::string& node);
  // Assumes all of these pods, if there is capacity for all: allocatable - occupying pods -
  // committed placements - other assumed pods. Otherwise none, and kConflict says why. Nominated
  // pods outside of gangs count on their nodes if their priority is the same or higher; those of
  // other gangs do not: first come, first served.
  Result<Nothing> assume_foreign(std::span<const ForeignBind> binds);
  void forget(const gang::PodSlot& slot, const std::string& pod_uid);
  // The bind of an assumed pod ended without an answer: it may be stored, now or later.
  void note_unconfirmed_bind(const std::string& pod_uid, MonoTime now);

 private:
  Result<Nothing> check_foreign_capacity(std::span<const ForeignBind> binds) const
      REQUIRES(state_.mutex);

  ClusterState& state_;
};

}  // namespace nervex::extender
