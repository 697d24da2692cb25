// extender/observe/plans.h - which capacity is used and reserved, for which pods and gangs? The
// extender's one view of the cluster.
//
// Kept up to date change by change, so that filter costs a look-up. Everything in it can be read
// from the API again, except the capacity of writes that are under way.
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
#include "extender/decide/unstarted.h"
#include "extender/decide/view.h"
#include "extender/observe/foreign_gangs.h"
#include "extender/observe/occupancy.h"
#include "extender/observe/volumes.h"
#include "kube/cache/store.h"
#include "kube/model/pod.h"

namespace nervex::extender {

// Whether a change of a gang's pod can make a difference to a plan.
bool matters(const PodPtr& before, const PodPtr& after);

// A bind call of a foreign gang's pod that is about to be made.
struct ForeignBind {
  PodPtr pod;
  std::string node;
};

// Thread-safe. No I/O under its lock.
class Plans {
 public:
  // Reads PodGroups from `groups`, and folds replies into it; their volumes from `volumes`. All
  // must outlive this.
  Plans(kube::Store<gang::PodGroup>& groups, const VolumeStores& volumes, const Clock& clock)
      : groups_(groups), volumes_(volumes), clock_(clock) {}
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  // What was watched: nodes and pods each by one thread, every `after` being the next `before`.
  void node_changed(const NodePtr& before, const NodePtr& after);
  // Should the planner look?
  enum class Look {
    kNo,
    // If a gang waits for capacity alone.
    kAtCapacity,
    // At all. A gang may be within its ResourceQuota now, for a pod that was counted as planned is
    // there; a pod is larger than was planned; a pod of a gang does not run as planned, or it was
    // the last one to be bound; or a node on which capacity is reserved has less than that. A pod
    // that was bound as planned is no reason: it has taken what was reserved for it.
    kNow,
  };
  Look pod_changed(const PodPtr& before, const PodPtr& after);
  // By one thread. True if a gang of that namespace waits.
  bool quota_changed(const QuotaPtr& before, const QuotaPtr& after);
  // All pods are about to be listed, and were listed: `pods` has them. No watch event reports a pod
  // that was created and deleted while the watch was down, so a list forgets the pods that were
  // assumed before it began and that it lacks. True if there were any: their capacity is free.
  void pod_list_begins();
  bool pods_listed(const kube::Store<kube::Pod>& pods);
  // The store has another state of this PodGroup, or none. By any thread.
  void group_changed(const std::string& key);
  // The stores have another state of this claim (namespace/name) or volume, or none. True if a
  // PodGroup depends on it. Cost: PodGroups. By any thread.
  bool claim_changed(const std::string& key);
  bool volume_changed(const std::string& name);
  // What the API server answered to a write or a live read of ours. Resolves an unconfirmed write
  // if it is of another resourceVersion than the one that was to be replaced.
  void fold(gang::PodGroup group);
  // Called after each fold, without the lock, with the PodGroup's UID: the watch will not report
  // what the store has already. Call before any other.
  void observe_folds(std::function<void(const std::string& uid)> observe) {
    observe_fold_ = std::move(observe);
  }

  // Without PodGroups of which nothing is left to decide: all that they ask for is placed and
  // committed, and runs. Cost: nodes + PodGroups.
  Snapshot snapshot() const;
  // The same, and what changed on nodes since changes were taken the last time. Changes have one
  // reader: the planner.
  Snapshot snapshot(std::vector<NodeChange>& changes);
  std::vector<NodeChange> take_changes();
  // The same, and what is spare on each node then.
  std::vector<NodeChange> take_changes(std::vector<placement::NodeView>& spare);
  bool has_group(const std::string& uid) const;
  // Cost: PodGroups, and slots of those gangs.
  std::vector<UnstartedGang> unstarted() const;
  SlotSeen slot_seen(const gang::PodSlot& slot) const;
  // A bind call for a pod of this slot has come, and may be held: its plan goes on. Only this
  // replica knows it.
  void note_bind_call(const gang::PodSlot& slot);
  // Cost: slots of the PodGroup x log(slots).
  GangSeen gang_seen(const std::string& uid, std::string_view gang) const;
  // Of the named nodes those on which capacity is reserved.
  std::vector<ReservedNode> reserved_nodes(const std::vector<std::string>& names) const;

  // A status is about to be written: from now on its placements are reserved beside those known,
  // and the PodGroup is unconfirmed, until it was read (fold, group_changed) or resolve() says that
  // the write was rejected.
  // False, and nothing happens, if it would take the placement of a pod that is bound, or is being
  // bound, from a committed gang: it was bound since the snapshot; or if it commits a gang, and
  // check_commit() does not agree, or if it gives lost slots places that have no room for them:
  // others have taken the capacity since.
  bool mark_unconfirmed(PodGroupPtr attempted);
  // All that one cycle decided, before the first is written: the capacity of each is reserved while
  // the others are under way. In `changes`: what else changed on nodes since they were taken last.
  std::vector<bool> mark_unconfirmed(const std::vector<PodGroupPtr>& attempted,
                                     std::vector<NodeChange>& changes);
  void resolve(const std::string& uid);
  std::vector<PodGroupPtr> unconfirmed() const;

  // The first bind of a gang. Of many callers one at a time gets `Commit`, if check_commit()
  // agrees; the gang's capacity counts as committed from then on, and end_commit() must follow. The
  // others wait for that and get its error, if it has one; callers for other gangs of the PodGroup
  // wait for their turn. kNotFound: the PodGroup was deleted.
  struct Committed {};
  struct Commit {
    PodGroupPtr group;
  };
  using CommitStep = std::variant<Committed, Commit>;
  Result<CommitStep> begin_commit(const std::string& uid, const std::string& gang);
  enum class Outcome { kKnown, kUnconfirmed };
  // The callers that wait get the error of `result`, or else check again. Unconfirmed, the gang's
  // capacity stays committed until the PodGroup was read.
  void end_commit(const std::string& uid, const std::string& gang, const Result<Nothing>& result,
                  Outcome outcome);

  // A commit that ended unconfirmed, and which one it was.
  struct UnconfirmedCommit {
    PodGroupPtr group;  // as known when it was asked for
    std::string gang;
    int number = 0;
  };
  struct OpenCommits {
    std::vector<UnconfirmedCommit> unconfirmed;
    bool any_running = false;
  };
  OpenCommits open_commits() const;
  // The PodGroup was read after that commit, and fold() knows what was read: what the read did not
  // show is not stored. Nothing happens if there was another commit since.
  void resolve_commit(const UnconfirmedCommit& commit);

  // Two pods for one slot may be in bind at the same time: only the one that assumes the slot may
  // go on. Returns the other pod, if there is one. An assumption ends when its pod is seen bound or
  // deleted, or is missing in a later list, or with forget(), or with its PodGroup. Till then the
  // pod's capacity on `node` stays reserved, even if its placement is released meanwhile.
  // Assuming the same pod again begins the bind anew.
  // kTransient: a status that takes the placement away may be stored, or is stored when its write
  // is repeated.
  Result<std::optional<SlotPods::Named>> assume(const gang::PodSlot& slot, const kube::Pod& pod,
                                                const std::string& node);
  void forget(const gang::PodSlot& slot, const std::string& pod_uid);

  // The bind of an assumed pod ended without an answer: it may be stored, or will be.
  struct UnconfirmedBind {
    gang::PodSlot slot;
    std::string ns;
    std::string pod;
    std::string uid;
    MonoTime since{};
  };
  void note_unconfirmed_bind(const std::string& pod_uid, MonoTime now);
  std::vector<UnconfirmedBind> unconfirmed_binds() const;
  // That bind is not stored and never will be. Nothing happens if another one has begun since.
  void resolve_bind(const UnconfirmedBind& bind);

  // ---- gangs of other operators (foreign_gangs.h), by "namespace/name" of their PodGroup

  void foreign_group_changed(const ForeignGroupPtr& before, const ForeignGroupPtr& after);
  void set_foreign_kind_missing(bool is_missing);
  void explain_foreign(const std::string& gang, std::string message);
  ForeignPodSeen foreign_seen(const std::string& gang) const;
  ForeignHoldSeen foreign_hold(const std::string& gang) const;
  // All of these pods are to be bound, and each assumed as by assume(), if there is capacity for
  // all: allocatable - occupying pods - committed placements - others that are assumed. Else none,
  // and kConflict says why. Nominated pods of no gang count on their nodes if their priority is the
  // same or higher; those of other gangs do not: first come, first served.
  Result<Nothing> assume_foreign(std::span<const ForeignBind> binds);

 private:
  struct CommitState {
    bool running = false;
    Result<Nothing> last = ok();
    int number = 0;  // how many there were
  };
  // When a pod of a plan was created; and when one was created, held or refused.
  struct PlanMoves {
    std::optional<MonoTime> last_created;
    MonoTime last;
  };
  struct GroupEntry {
    GroupEntry(NodeTable& nodes, const SlotPods& pods) : placements(nodes, pods) {}
    PodGroupPtr stored;  // as it was read; placements.group() is what is made of it
    GroupPlacements placements;
    VolumesUsed volumes;
    std::vector<gang::EnlargedSet> enlarged;
    std::map<std::string, CommitState> commits;                     // by gang
    std::map<std::pair<std::string, std::string>, int> rejections;  // by set and node
    std::map<std::pair<std::string, int>, std::string> losses;      // by role and ordinal
    std::map<std::string, PlanMoves> moves;                         // by gang that is not committed
    bool is_settled = false;                                        // as far as spec and status say
    bool is_restored = false;                                       // as GroupSeen
    std::int64_t highest_placement = 0;                             // number that was ever seen
    std::string waits_in;  // the namespace, if a gang has no plan; else ""
  };

  struct AssumedPod {
    gang::PodSlot slot;
    std::string ns;
    std::string pod;
    std::string node;
    kube::Resources requests;
    int list = 0;  // the last one that had begun
    std::optional<MonoTime> unconfirmed_since{};
    std::string foreign_gang{};  // of a pod of one; such a pod has no slot
  };
  void forget_assumed(const std::string& pod_uid) REQUIRES(mutex_);
  void release_assumed(const gang::PodSlot& slot, const std::string& pod_uid) REQUIRES(mutex_);
  void forget_assumed_of(const std::string& group_uid) REQUIRES(mutex_);
  // Of pods by uid. True if there were any.
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
  // Notes what admission made of a pod that is not bound yet. True if it is larger than planned.
  bool learn_requests(const gang::PodSlot& slot, const kube::Pod& pod) REQUIRES(mutex_);
  // The PodGroup as it is planned: with what its volumes demand, its pods' real requests, and what
  // the status lost.
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
  // Gives PodGroups their constraints again. True if there were any.
  bool resolve_volumes_if(const std::function<bool(const VolumesUsed&)>& is_one) REQUIRES(mutex_);
  void end_unconfirmed(GroupEntry& entry, const PodGroupPtr& now) REQUIRES(mutex_);
  // Of known nodes, for something of this priority, sorted.
  std::vector<placement::NodeView> views(const std::set<std::string_view>& names,
                                         int priority) const REQUIRES(mutex_);
  // `group`: the entry's, or as it is about to be written.
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
    kube::Resources requests;  // of one that was seen before it was bound
  };
  using PodsOfSlots = std::map<std::pair<std::string, int>, ExistingPods>;  // by role and ordinal
  static bool has_pod_for(const PodsOfSlots& pods, const MemberSeen& member);
  // By PodGroup UID and the pods' namespace: what a pod says of a PodGroup of another namespace is
  // not believed.
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
