// extender/observe/plans.h - which capacity is used and reserved, for which pods and gangs? The
// extender's single view of the cluster.
//
// Updated with each change, so that filter costs one look-up. Everything in it can be read from the
// API again, except the capacity of writes in progress.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "extender/cycle/snapshot.h"
#include "extender/observe/foreign_gangs.h"
#include "extender/observe/occupancy.h"
#include "extender/observe/volumes.h"
#include "extender/recovery/plan_expiry.h"
#include "kube/cache/store.h"
#include "kube/model/pod.h"

namespace nervex::extender {

// Whether a change of a gang's pod can affect a plan.
bool matters(const PodPtr& before, const PodPtr& after);

// A bind call for a foreign gang's pod that is about to be sent.
struct ForeignBind {
  PodPtr pod;
  std::string node;
};

// Thread-safe. No I/O under its lock.
class Plans {
 public:
  // Reads PodGroups from `groups` and their volumes from `volumes`, and folds API replies into
  // `groups`. All arguments must outlive this.
  Plans(kube::Store<gang::PodGroup>& groups, const VolumeStores& volumes, const Clock& clock)
      : groups_(groups), volumes_(volumes), clock_(clock) {}
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  // Watch changes: nodes and pods each from one thread, every `after` being the next `before`.
  void node_changed(const NodePtr& before, const NodePtr& after);
  // Does the planner have to look?
  enum class Look {
    kNo,
    // Only if a gang waits for capacity.
    kAtCapacity,
    // Always: a gang may be within its ResourceQuota now, because a pod that was counted as planned
    // exists; a pod is larger than planned; a gang's pod does not run as planned, or was the last
    // to be bound; or a node with reserved capacity has less than that. A pod that was bound as
    // planned is no reason: it uses its own reservation.
    kNow,
  };
  Look pod_changed(const PodPtr& before, const PodPtr& after);
  // By one thread. True if a gang of that namespace waits.
  bool quota_changed(const QuotaPtr& before, const QuotaPtr& after);
  // A list of all pods begins, and has ended: `pods` has the result. No watch event reports a pod
  // that was created and deleted while the watch was down, so a list forgets assumed pods that it
  // lacks, if they were assumed before it began. True if there were any: their capacity is free.
  void pod_list_begins();
  bool pods_listed(const kube::Store<kube::Pod>& pods);
  // The store has a new state of this PodGroup, or none. By any thread.
  void group_changed(const std::string& key);
  // The stores have a new state of this claim (namespace/name) or volume, or none. True if a
  // PodGroup depends on it. Cost: PodGroups. By any thread.
  bool claim_changed(const std::string& key);
  bool volume_changed(const std::string& name);
  // The API server's reply to one of our writes or live reads. Resolves an unconfirmed write if its
  // resourceVersion differs from the one that was to be replaced.
  void fold(gang::PodGroup group);
  // `observe` gets the PodGroup's UID after each fold, without the lock: the watch does not report
  // what the store already has. Call before any other.
  void observe_folds(std::function<void(const std::string& uid)> observe) {
    observe_fold_ = std::move(observe);
  }

  // Leaves out PodGroups with nothing to decide: all their requests are placed, committed and
  // running. Cost: nodes + PodGroups.
  Snapshot snapshot() const;
  // The same, plus node changes since they were last taken. Only the planner reads changes.
  Snapshot snapshot(std::vector<NodeChange>& changes);
  std::vector<NodeChange> take_changes();
  // The same, plus each node's spare capacity at that moment.
  std::vector<NodeChange> take_changes(std::vector<placement::NodeView>& spare);
  bool has_group(const std::string& uid) const;
  // Cost: PodGroups, and slots of those gangs.
  std::vector<UnstartedGang> unstarted() const;
  SlotSeen slot_seen(const gang::PodSlot& slot) const;
  // A bind call for a pod of this slot has arrived and may be held: its plan makes progress. Only
  // this replica knows it.
  void note_bind_call(const gang::PodSlot& slot);
  // Cost: slots of the PodGroup x log(slots).
  GangSeen gang_seen(const std::string& uid, std::string_view gang) const;
  // Those of the named nodes that have reserved capacity.
  std::vector<ReservedNode> reserved_nodes(const std::vector<std::string>& names) const;

  // A status is about to be written: its placements are reserved in addition to the known ones, and
  // the PodGroup is unconfirmed, until it was read (fold, group_changed) or resolve() reports that
  // the write was rejected.
  // Returns false and does nothing if the status takes the placement of a pod that is or is being
  // bound from a committed gang (bound since the snapshot), if it commits a gang and check_commit()
  // fails, or if it moves lost slots to nodes without enough capacity (taken since).
  bool mark_unconfirmed(PodGroupPtr attempted);
  // All decisions of one cycle, before the first is written: reserves the capacity of each while
  // the others are in progress. `changes`: other node changes since they were last taken.
  std::vector<bool> mark_unconfirmed(const std::vector<PodGroupPtr>& attempted,
                                     std::vector<NodeChange>& changes);
  void resolve(const std::string& uid);
  std::vector<PodGroupPtr> unconfirmed() const;

  // The first bind of a gang. One of several callers gets `Commit`, if check_commit() agrees; the
  // gang's capacity counts as committed from then on, and end_commit() must follow. The others wait
  // for it and get its error, if any; callers for other gangs of the PodGroup wait until it has
  // ended. kNotFound: the PodGroup was deleted.
  struct Committed {};
  struct Commit {
    PodGroupPtr group;
  };
  using CommitStep = std::variant<Committed, Commit>;
  Result<CommitStep> begin_commit(const std::string& uid, const std::string& gang);
  enum class Outcome { kKnown, kUnconfirmed };
  // Waiting callers get the error of `result`, or check again. If unconfirmed, the gang's capacity
  // stays committed until the PodGroup was read.
  void end_commit(const std::string& uid, const std::string& gang, const Result<Nothing>& result,
                  Outcome outcome);

  // A commit that ended unconfirmed.
  struct UnconfirmedCommit {
    PodGroupPtr group;  // as known at the request
    std::string gang;
    int number = 0;
  };
  struct OpenCommits {
    std::vector<UnconfirmedCommit> unconfirmed;
    bool any_running = false;
  };
  OpenCommits open_commits() const;
  // The PodGroup was read after that commit and passed to fold(): a commit that the read did not
  // show is not stored. Does nothing if another commit came since.
  void resolve_commit(const UnconfirmedCommit& commit);

  // Two pods for one slot may be in bind at the same time: only the one that assumes the slot may
  // continue. Returns the other pod, if any. An assumption ends when its pod is seen bound or
  // deleted, or is missing in a later list, with forget(), or with its PodGroup. Until then the
  // pod's capacity on `node` stays reserved, even if its placement is released meanwhile. Assuming
  // the same pod again restarts the bind.
  // kTransient: a status that takes the placement away may be stored, now or when its write is
  // repeated.
  Result<std::optional<SlotPods::Named>> assume(const gang::PodSlot& slot, const kube::Pod& pod,
                                                const std::string& node);
  void forget(const gang::PodSlot& slot, const std::string& pod_uid);

  // The bind of an assumed pod ended without an answer: it may be stored, now or later.
  struct UnconfirmedBind {
    gang::PodSlot slot;
    std::string ns;
    std::string pod;
    std::string uid;
    MonoTime since{};
  };
  void note_unconfirmed_bind(const std::string& pod_uid, MonoTime now);
  std::vector<UnconfirmedBind> unconfirmed_binds() const;
  // That bind is not stored and never will be. Does nothing if another bind has begun since.
  void resolve_bind(const UnconfirmedBind& bind);

  // ---- gangs of other operators (foreign_gangs.h), by "namespace/name" of their PodGroup

  void foreign_group_changed(const ForeignGroupPtr& before, const ForeignGroupPtr& after);
  void set_foreign_kind_missing(bool is_missing);
  void explain_foreign(const std::string& gang, std::string message);
  ForeignPodSeen foreign_seen(const std::string& gang) const;
  ForeignHoldSeen foreign_hold(const std::string& gang) const;
  // Assumes all of these pods as assume() does, if there is capacity for all: allocatable -
  // occupying pods - committed placements - other assumed pods. Otherwise none, and kConflict says
  // why. Nominated pods outside of gangs count on their nodes if their priority is the same or
  // higher; those of other gangs do not: first come, first served.
  Result<Nothing> assume_foreign(std::span<const ForeignBind> binds);

 private:
  struct CommitState {
    bool running = false;
    Result<Nothing> last = ok();
    int number = 0;  // number of commits so far
  };
  // When a pod of a plan was last created; and when one was last created, held or refused.
  struct PlanMoves {
    std::optional<MonoTime> last_created;
    MonoTime last;
  };
  struct GroupEntry {
    GroupEntry(NodeTable& nodes, const SlotPods& pods) : placements(nodes, pods) {}
    PodGroupPtr stored;  // as read; placements.group() is derived from it
    GroupPlacements placements;
    VolumesUsed volumes;
    std::vector<gang::EnlargedSet> enlarged;
    std::map<std::string, CommitState> commits;                     // by gang
    std::map<std::pair<std::string, std::string>, int> rejections;  // by set and node
    std::map<std::pair<std::string, int>, std::string> losses;      // by role and ordinal
    std::map<std::string, PlanMoves> moves;                         // by uncommitted gang
    bool is_settled = false;                                        // according to spec and status
    bool is_restored = false;                                       // as in GroupSeen
    std::int64_t highest_placement = 0;                             // highest number ever seen
    std::string waits_in;  // the namespace, if a gang has no plan; else ""
  };

  struct AssumedPod {
    gang::PodSlot slot;
    std::string ns;
    std::string pod;
    std::string node;
    kube::Resources requests;
    int list = 0;  // number of pod lists that had begun
    std::optional<MonoTime> unconfirmed_since{};
    std::string foreign_gang{};  // its foreign gang; such a pod has no slot
  };
  void forget_assumed(const std::string& pod_uid) REQUIRES(mutex_);
  void release_assumed(const gang::PodSlot& slot, const std::string& pod_uid) REQUIRES(mutex_);
  void forget_assumed_pods(const std::string& group_uid) REQUIRES(mutex_);
  // By pod UID. True if there were any.
  bool release_assumed_if(
      const std::function<bool(const std::string& uid, const AssumedPod&)>& is_one)
      REQUIRES(mutex_);
  void nominated_changed(const PodPtr& before, const PodPtr& after) REQUIRES(mutex_);
  void foreign_pod_changed(const PodPtr& before, const PodPtr& after) REQUIRES(mutex_);
  void refresh_slot(const gang::PodSlot& slot) REQUIRES(mutex_);
  void note_rejection(const gang::PodSlot& slot, const kube::Pod& pod) REQUIRES(mutex_);
  void note_move(const gang::PodSlot& slot, std::string_view ns, bool is_created) REQUIRES(mutex_);
  void note_loss(const gang::PodSlot& slot, const kube::Pod& deleted) REQUIRES(mutex_);
  void forget_loss(const gang::PodSlot& slot) REQUIRES(mutex_);
  void note_existing(const std::string& ns, const gang::PodSlot& slot) REQUIRES(mutex_);
  void forget_existing(const std::string& ns, const gang::PodSlot& slot) REQUIRES(mutex_);
  // Records an unbound pod's requests after admission. True if they are larger than planned.
  bool learn_requests(const gang::PodSlot& slot, const kube::Pod& pod) REQUIRES(mutex_);
  // The PodGroup to plan with: includes volume constraints, its pods' real requests, and what the
  // status lost.
  PodGroupPtr effective(GroupEntry& entry) const REQUIRES(mutex_);
  PodGroupPtr with_sizes(GroupEntry& entry, const PodGroupPtr& group) const REQUIRES(mutex_);
  PodGroupPtr with_causes_over(const PodGroupPtr& group) const REQUIRES(mutex_);
  PodGroupPtr with_placements(GroupEntry& entry, const PodGroupPtr& group) const REQUIRES(mutex_);
  void note_bound(const gang::PodSlot& slot) REQUIRES(mutex_);
  bool has_waiting_gang(const std::string& ns) const REQUIRES(mutex_);
  void set_group(GroupEntry& entry, const PodGroupPtr& stored) REQUIRES(mutex_);
  void set_waits_in(GroupEntry& entry, const std::string& ns) REQUIRES(mutex_);
  Snapshot make_snapshot() const REQUIRES(mutex_);
  bool mark(PodGroupPtr attempted) REQUIRES(mutex_);
  bool has_nothing_to_decide(const GroupEntry& entry) const REQUIRES(mutex_);
  Look look_after_gang_pod(const PodPtr& before, const PodPtr& after) const REQUIRES(mutex_);
  void add_quotas(Snapshot& snapshot) const REQUIRES(mutex_);
  // Updates the constraints of PodGroups. True if there were any.
  bool resolve_volumes_if(const std::function<bool(const VolumesUsed&)>& is_one) REQUIRES(mutex_);
  void end_unconfirmed(GroupEntry& entry, const PodGroupPtr& now) REQUIRES(mutex_);
  // Known nodes, for a request of this priority; sorted.
  std::vector<placement::NodeView> views(const std::set<std::string_view>& names,
                                         int priority) const REQUIRES(mutex_);
  // `group`: the entry's, or the one about to be written.
  Result<Nothing> check_capacity(GroupEntry& entry, const gang::PodGroup& group,
                                 const std::string& gang) REQUIRES(mutex_);

  kube::Store<gang::PodGroup>& groups_;
  const VolumeStores& volumes_;
  const Clock& clock_;
  std::function<void(const std::string&)> observe_fold_ = [](const std::string&) {};
  mutable Mutex mutex_;
  CondVar commit_ended_;
  NodeTable nodes_ GUARDED_BY(mutex_);
  SlotPods pods_ GUARDED_BY(mutex_);
  ForeignGangs foreign_ GUARDED_BY(mutex_);
  int pod_lists_ GUARDED_BY(mutex_) = 0;                          // that have begun
  std::map<std::string, AssumedPod> assumed_ GUARDED_BY(mutex_);  // by pod UID
  struct ExistingPods {                                           // of one slot, bound or not
    std::multiset<std::int64_t> placements;
    kube::Resources requests;  // of a pod seen before it was bound
  };
  using PodsOfSlots = std::map<std::pair<std::string, int>, ExistingPods>;  // by role and ordinal
  static bool has_pod_for(const PodsOfSlots& pods, const MemberSeen& member);
  // By PodGroup UID and the pods' namespace: a pod cannot speak for a PodGroup of another
  // namespace.
  std::map<std::pair<std::string, std::string>, PodsOfSlots> existing_ GUARDED_BY(mutex_);
  // By namespace and name.
  std::map<std::string, std::map<std::string, QuotaPtr>, std::less<>> quotas_ GUARDED_BY(mutex_);
  std::map<std::string, GroupEntry, std::less<>> by_uid_ GUARDED_BY(mutex_);
  std::map<std::string, std::string, std::less<>> uid_of_ GUARDED_BY(mutex_);  // by namespace/name
  mutable queue::SettledWorkloads settled_ GUARDED_BY(mutex_);  // GroupEntry::is_settled
  // PodGroups with a gang that has no plan, by namespace.
  std::map<std::string, int> waiting_in_ GUARDED_BY(mutex_);
};

}  // namespace nervex::extender
