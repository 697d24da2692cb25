// extender/observe/planner_cache.h - what does the planner read from the cluster cache, and what
// does it reserve there before it writes?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "extender/observe/parts/cluster_state.h"
#include "planner/facts/cycle_facts.h"
#include "planner/facts/snapshot.h"
#include "planner/recovery/plan_expiry.h"
#include "planner/work/waiting.h"

namespace nervex::extender {

// Whether a snapshot has Snapshot::running and what goes with it: all that could end for a gang.
enum class WithRunning {
  kNo,
  kIfPreempting,  // if a queue preempts
  kYes,
};
// What cycles need with these options.
WithRunning choose_running(const planner::CycleOptions& options);

// Thread-safe.
class PlannerCache {
 public:
  explicit PlannerCache(ClusterState& state) : state_(state) {}

  // ---- what a cycle decides on

  // Leaves out PodGroups with nothing to decide: all their requests are placed, committed and
  // running. Cost: nodes + PodGroups.
  planner::Snapshot snapshot() const;
  // The same for a simulation: with the quotas of a namespace that may have no PodGroup.
  planner::Snapshot snapshot_for(std::string_view ns, WithRunning with = WithRunning::kNo) const;
  // The same for the planner: plus node changes since they were last taken. Without what runs while
  // no gang waits.
  planner::Snapshot snapshot(std::vector<planner::NodeChange>& changes,
                             WithRunning with = WithRunning::kNo);
  std::vector<planner::NodeChange> take_changes();
  // The same, plus each node's spare capacity at that moment.
  std::vector<planner::NodeChange> take_changes(std::vector<placement::NodeView>& spare);
  bool has_group(const std::string& uid) const;
  // Cost: PodGroups, and slots of those gangs.
  std::vector<planner::UncommittedPlan> uncommitted_plans() const;
  // Why this gang of another operator waits, for filter's answers.
  void explain_foreign(const std::string& gang, std::string message);

  // Bound pods of this gang; of a base gang, of all its job.
  std::vector<kube::PodKey> live_pods(const gang::PodGroup& group,
                                      const gang::GangStatus& gang) const;

  // ---- writes of statuses

  // A status is about to be written: its placements are reserved in addition to the known ones, and
  // the PodGroup is unconfirmed, until it was read (fold(), or the watch) or resolve() reports that
  // the write was rejected.
  // Returns false and does nothing if the status takes the placement of a pod that is or is being
  // bound from a committed gang (bound since the snapshot), if it commits a gang and check_commit()
  // fails, or if it moves lost slots to nodes without enough capacity (taken since).
  bool mark_unconfirmed(gang::PodGroupPtr attempted);
  // All decisions of one cycle, before the first is written: reserves the capacity of each while
  // the others are in progress. `changes`: other node changes since they were last taken.
  std::vector<bool> mark_unconfirmed(const std::vector<gang::PodGroupPtr>& attempted,
                                     std::vector<planner::NodeChange>& changes);
  void resolve(const std::string& uid);
  std::vector<gang::PodGroupPtr> unconfirmed() const;
  // As BindCache::fold().
  void fold(gang::PodGroup group) { state_.fold(std::move(group)); }

  // ---- writes of binds that ended without an answer

  // A commit (BindCache::begin_commit()) that ended unconfirmed.
  struct UnconfirmedCommit {
    gang::PodGroupPtr group;  // as known at the request
    std::string gang;
    int number = 0;
  };
  struct OpenCommits {
    std::vector<UnconfirmedCommit> unconfirmed;
    bool is_any_running = false;
  };
  OpenCommits open_commits() const;
  // The PodGroup was read after that commit and passed to fold(): a commit that the read did not
  // show is not stored. Does nothing if another commit came since.
  void resolve_commit(const UnconfirmedCommit& commit);

  using UnconfirmedBind = AssumedPods::Unconfirmed;
  std::vector<UnconfirmedBind> unconfirmed_binds() const;
  // That bind is not stored and never will be. Does nothing if another bind has begun since.
  void resolve_bind(const UnconfirmedBind& bind);

 private:
  planner::Snapshot make_snapshot(WithRunning with, std::string_view with_quotas_of = {}) const
      REQUIRES(state_.mutex);
  bool has_nothing_to_decide(const CachedGroup& entry) const REQUIRES(state_.mutex);
  bool does_any_gang_wait() const REQUIRES(state_.mutex);
  void add_facts(planner::Snapshot& snapshot, std::string_view with_quotas_of) const
      REQUIRES(state_.mutex);
  bool has_pod(const kube::Meta& group, const ExistingPods::BySlot* pods, std::string_view role,
               gang::SlotId slot) const REQUIRES(state_.mutex);
  planner::UncommittedPlan describe_plan(const CachedGroup& entry,
                                         const gang::GangStatus& gang) const REQUIRES(state_.mutex);
  SysTime find_victims_due(const gang::PodGroup& group, const gang::GangStatus& gang) const
      REQUIRES(state_.mutex);
  bool mark(gang::PodGroupPtr attempted) REQUIRES(state_.mutex);

  ClusterState& state_;
};

}  // namespace nervex::extender
