// queue/tree.h - how are queues nested, and to which one does a job belong?
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kube/model/namespace.h"
#include "queue/inadmissible.h"
#include "queue/queue.h"

namespace nervex::queue {

using QueuePtr = std::shared_ptr<const Queue>;
using QueueIndex = std::size_t;
inline constexpr QueueIndex kRoot = 0;

// All queues, below a root that is no object: it has no quota, no limit and no name. Immutable;
// made again when a Queue changes.
//
// A broken part stays in the tree, directly below the root, so that its running workloads count.
// Nothing starts in it or below it, since limits further up are unknown:
//   a parent does not exist -> ParentNotFound, for the queue and everything below it
//   the parents form a cycle -> QueueCycle, for its queues and everything below them
//   its spec cannot be read -> QueueUnreadable, for the queue and everything below it
class QueueTree {
 public:
  // The queues in any order, with unique names. Cost: queues x depth.
  explicit QueueTree(std::vector<QueuePtr> queues = {});

  // The root included. Indices follow the names, and are valid for this tree only.
  std::size_t size() const { return nodes_.size(); }
  // nullopt: no such queue. The empty name is the root.
  std::optional<QueueIndex> find(std::string_view name) const;
  const Queue& operator[](QueueIndex queue) const { return *nodes_[queue].queue; }
  // Of the root: the root.
  QueueIndex parent(QueueIndex queue) const { return nodes_[queue].parent; }
  std::span<const QueueIndex> children(QueueIndex queue) const { return nodes_[queue].children; }
  // Steps up to the root.
  std::size_t depth(QueueIndex queue) const { return nodes_[queue].depth; }
  // What the queue and its parts are guaranteed: its own quota, or the sum of those of its parts
  // where that is more.
  const Bounds& quota(QueueIndex queue) const { return nodes_[queue].quota; }
  // Why nothing can start there: a broken tree, or a stop. nullptr: none.
  const Inadmissible* problem(QueueIndex queue) const;
  // The least of the queue's and its ancestors' maxRuntimeSeconds.
  std::optional<std::int64_t> max_runtime_seconds(QueueIndex queue) const;
  // The names of the queues that it is a part of, its parent first; without the root. Bounded.
  std::vector<std::string> list_parents(QueueIndex queue) const;
  // A quota or limit names node classes.
  bool uses_classes() const { return uses_classes_; }
  // A queue reclaims, or preempts by priority.
  bool uses_preemption() const { return uses_preemption_; }
  // There is nothing but the root, which has no rules.
  bool is_root_alone() const { return nodes_.size() == 1; }
  // The queue or one of its ancestors says HoldAndDrain.
  bool is_drained(QueueIndex queue) const { return nodes_[queue].is_drained; }
  // The same by name; a queue that does not exist is not drained.
  bool is_drained(std::string_view name) const {
    const auto queue = find(name);
    return queue && is_drained(*queue);
  }

 private:
  struct Node {
    QueuePtr queue;
    QueueIndex parent = kRoot;
    std::vector<QueueIndex> children{};
    std::size_t depth = 0;
    Bounds quota{};
    std::optional<Inadmissible> problem{};
    bool is_drained = false;
  };

  void resolve_parents();
  void break_cycles();
  void inherit();

  std::vector<Node> nodes_;  // the root, then by name
  bool uses_classes_ = false;
  bool uses_preemption_ = false;
};

// The queue of a job: the one that the job names (`wanted`, empty: none), else the one that its
// namespace names by label, else the one that selects its namespace, else the root. A named queue
// must exist, be readable and select the namespace. Of a queue and one of its parts that both
// select a namespace, the part counts. Cost: queues x requirements of their selectors if neither
// names a queue.
std::variant<QueueIndex, Inadmissible> find_queue(const QueueTree& tree, std::string_view wanted,
                                                  const kube::Namespace& ns);

// Namespaces that name no queue and are selected by several: QueueAmbiguous for jobs that name
// none. In order of the namespaces.
std::vector<QueueAmbiguous> find_ambiguous(const QueueTree& tree,
                                           std::span<const kube::Namespace> namespaces);

}  // namespace nervex::queue
