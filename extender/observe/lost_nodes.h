// extender/observe/lost_nodes.h - which nodes are lost, and whose pods are marked for it?
//
// A node is lost when it was not Ready, or deleted, for longer than a limit. A node that is not
// Ready is lost later, or never, to pods whose template tolerates that (gang/outage_tolerations.h).
// Its pods are marked by the condition kube::kNodeLostCondition, and the controller removes and
// replaces marked pods without waiting for the node. One writer, so the two programs cannot
// disagree, and the mark is there for everybody to read: docs/adr/2026-11-22-healing.md.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "extender/observe/plans.h"
#include "kube/api.h"
#include "kube/cache/store.h"

namespace nervex::extender {

// How long a node was away is measured by this process on its monotonic clock, from when it saw the
// node go. The times in conditions are other machines' clocks, and pods must not be removed because
// one of them is wrong. Every replica watches, so a new leader knows what the old one knew; only a
// restart begins to count again.
class LostNodes {
 public:
  // `limit` 0: no node ever counts as lost.
  LostNodes(kube::Api& api, const kube::Store<kube::Node>& nodes,
            const kube::Store<kube::Pod>& pods, const Clock& clock, std::chrono::milliseconds limit)
      : api_(api), nodes_(nodes), pods_(pods), clock_(clock), limit_(limit) {}
  LostNodes(const LostNodes&) = delete;
  LostNodes& operator=(const LostNodes&) = delete;

  // What was watched; thread-safe.
  void node_changed(const NodePtr& before, const NodePtr& after);
  // True: it is of a gang, and its node is away.
  bool pod_changed(const PodPtr& after);

  // Marks the pods of the nodes that are lost by now: a bounded number of them, and none begins
  // after a second, since no plan is made meanwhile. After a failure there is a pause, from 1 to
  // 30 s, and the next node has its turn. Before the first
  // one of a node it is read live: a watch may be stuck. Marks none while all nodes are not Ready,
  // or 55 % of them and more than two, as kube-controller-manager evicts none then: the jobs of the
  // whole cluster would end for a broken network. Deleted nodes do not count. Returns when to call
  // again even if nothing changes. By the planner's thread.
  std::optional<std::chrono::milliseconds> mark_pods();

 private:
  struct Outage {
    MonoTime since{};
    std::string text;  // "not Ready since 2026-11-22T10:00:07Z", "deleted"
    // When pods on it are to be marked; nullopt: none is. Looking for some costs a look at all pods
    // of the cluster.
    std::optional<MonoTime> look_at;
  };
  // What one call may still do.
  struct Budget {
    int marks = 0;
    MonoTime until{};
  };
  enum class Marked { kAll, kInPart, kFailed };

  void note_unknown_nodes();
  // So many nodes are not Ready that it is rather the network, or what this process sees.
  bool is_disruption(const std::map<std::string, Outage>& outages) const;
  // From now on each node that is away has the whole limit again.
  void restart();
  std::map<std::string, Outage> outages() const;
  void set_done(const std::string& node);
  // For how long that pod's node may be away before it is lost to it; nullopt: for any time. Of a
  // node that was deleted nothing comes back.
  std::optional<std::chrono::milliseconds> limit_for(const kube::Pod& pod) const;
  void look_later(const std::string& node, MonoTime at);
  void forget_deleted_nodes() REQUIRES(mutex_);
  // Its pods are to be looked for again.
  void set_not_done(const std::string& node, Outage outage);
  Result<bool> is_away(const std::string& node);
  Marked mark_all(const std::string& node, const Outage& outage, const std::vector<PodPtr>& pods,
                  Budget& budget);
  Result<Nothing> mark(const kube::Pod& pod, const std::string& message);

  kube::Api& api_;
  const kube::Store<kube::Node>& nodes_;
  const kube::Store<kube::Pod>& pods_;
  const Clock& clock_;
  const std::chrono::milliseconds limit_;
  bool was_disruption_ = false;
  // For nodes that were deleted before this process began to lead.
  std::atomic<bool> has_looked_{false};
  // The planner's thread's own:
  int failures_ = 0;  // calls in a row in which a mark failed
  MonoTime paused_until_{};
  std::string last_tried_;  // node
  mutable Mutex mutex_;
  std::map<std::string, Outage> outages_ GUARDED_BY(mutex_);  // by node
};

}  // namespace nervex::extender
