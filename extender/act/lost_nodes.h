// extender/act/lost_nodes.h - which nodes are lost, and whose pods are marked as lost?
//
// A node is lost after it was not Ready, or deleted, for longer than a limit. For pods whose
// template tolerates not Ready nodes it is lost later, or never (gang/outage_tolerations.h). Pods
// on it are marked with the condition kube::kNodeLostCondition, and the controller removes and
// replaces marked pods without waiting for the node. One writer, so the two programs cannot
// disagree, and any client can read the mark: docs/adr/2026-11-22-healing.md.
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
#include "gang/objects.h"
#include "kube/api.h"
#include "kube/cache/store.h"
#include "kube/model/objects.h"

namespace nervex::extender {

// This process measures how long a node is away on its own monotonic clock, from when it saw the
// node go. The times in conditions come from other machines' clocks, and a wrong clock must not
// cause pods to be removed. Every replica watches, so a new leader knows what the old one knew;
// only a restart starts over.
class LostNodes {
 public:
  // `limit` 0: no node ever counts as lost.
  LostNodes(kube::Api& api, const kube::Store<kube::Node>& nodes,
            const kube::Store<kube::Pod>& pods, const Clock& clock, std::chrono::milliseconds limit)
      : api_(api), nodes_(nodes), pods_(pods), clock_(clock), limit_(limit) {}
  LostNodes(const LostNodes&) = delete;
  LostNodes& operator=(const LostNodes&) = delete;

  // Watch changes; thread-safe.
  void node_changed(const kube::NodePtr& before, const kube::NodePtr& after);
  // True: the pod belongs to a gang, and its node is away.
  bool pod_changed(const kube::PodPtr& after);

  // Marks the pods of lost nodes: a bounded number per call, and none begins after one second,
  // since no plan is made meanwhile. After a failure it pauses, for 1 to 30 s, and continues with
  // the next node. Reads a node live before the first mark: a watch may be stuck. Marks none while
  // all nodes are not Ready, or 55 % of them and more than two, as kube-controller-manager then
  // evicts none: a broken network would end the jobs of the whole cluster. Deleted nodes do not
  // count. Returns when to call again even if nothing changes. Called by the planner's thread.
  std::optional<std::chrono::milliseconds> mark_pods();

 private:
  struct Outage {
    MonoTime since{};
    std::string text;  // "not Ready since 2026-11-22T10:00:07Z", "deleted"
    // When to mark its pods; nullopt: none. Finding them means looking at all pods of the cluster.
    std::optional<MonoTime> look_at;
  };
  // What one call may still spend.
  struct Budget {
    int marks = 0;
    MonoTime until{};
  };
  enum class Marked { kAll, kInPart, kFailed };

  void note_unknown_nodes();
  // With this many nodes not Ready the cause is probably the network, or this process.
  bool is_disruption(const std::map<std::string, Outage>& outages) const;
  // Gives each node that is away the whole limit again.
  void restart();
  std::map<std::string, Outage> outages() const;
  void set_done(const std::string& node);
  // How long that pod's node may be away before the pod is lost; nullopt: forever. Pods of a
  // deleted node never come back.
  std::optional<std::chrono::milliseconds> limit_for(const kube::Pod& pod) const;
  void look_later(const std::string& node, MonoTime at);
  void forget_deleted_nodes() REQUIRES(mutex_);
  // Its pods are to be looked for again.
  void set_not_done(const std::string& node, Outage outage);
  Result<bool> is_away(const std::string& node);
  Marked mark_all(const std::string& node, const Outage& outage,
                  const std::vector<kube::PodPtr>& pods, Budget& budget);
  Result<Nothing> mark(const kube::Pod& pod, const std::string& message);

  kube::Api& api_;
  const kube::Store<kube::Node>& nodes_;
  const kube::Store<kube::Pod>& pods_;
  const Clock& clock_;
  const std::chrono::milliseconds limit_;
  bool was_disruption_ = false;
  // mark_pods() has looked for pods on nodes that do not exist: these were deleted before this
  // process led.
  std::atomic<bool> has_looked_{false};
  // Used by the planner's thread only:
  int failures_ = 0;  // consecutive calls with a failed mark
  MonoTime paused_until_{};
  std::string last_tried_;  // node
  mutable Mutex mutex_;
  std::map<std::string, Outage> outages_ GUARDED_BY(mutex_);  // by node
};

}  // namespace nervex::extender
