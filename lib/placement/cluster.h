// placement/cluster.h - which nodes exist, what is free on each, and which of them may a pod use?
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/model/node.h"
#include "kube/model/resources.h"

namespace nervex::placement {

// NodeLabels say what labels of nodes mean in a cluster.
struct NodeLabels {
  std::string node_class{};             // its value is the class of a node; empty: nodes have none
  std::vector<std::string> topology{};  // levels, those with the largest domains first
};

struct NodeView {  // one node, as of the caller's snapshot
  std::shared_ptr<const kube::Node> node;
  // allocatable - occupying pods - reserved capacity; below zero: overcommitted
  kube::Resources free;
};

// What a pod's constraints mean for each node, by node index. Ignores capacity.
struct Verdicts {
  std::vector<kube::NodeFit> fits;
  // The node meets the pod's own requirements: nodeSelector, affinity, volumes. Long-lived proofs
  // count these nodes, because taints, cordons and readiness change.
  std::vector<bool> selected;
  std::vector<std::int64_t> score;  // kube::preference(); empty: all are equal
  // kube::evicts(), of allowed nodes; empty: none does.
  std::vector<bool> evicts{};
};

// A value: changes to one copy do not show in another. Copies share the nodes and the results that
// verdicts() caches, so all copies that call verdicts() must stay on one thread; copies from
// for_one_plan() are exempt.
class Cluster {
 public:
  Cluster() = default;
  // In any order. Of nodes with the same name the first counts.
  Cluster(std::span<const NodeView> views);  // NOLINT: implicit, as the one below
  Cluster(const std::vector<NodeView>& views) : Cluster(std::span(views)) {}  // NOLINT
  Cluster(std::initializer_list<NodeView> views)
      : Cluster(std::span(views.begin(), views.size())) {}

  // Nodes have indexes in the order of their names.
  std::size_t size() const { return nodes_ ? nodes_->nodes.size() : 0; }
  bool empty() const { return size() == 0; }
  const kube::Node& node(std::size_t i) const { return *nodes_->nodes[i]; }
  NodeView view(std::size_t i) const { return {nodes_->nodes[i], free(i)}; }
  std::optional<std::size_t> find(std::string_view name) const;
  const NodeLabels& labels() const;
  std::shared_ptr<const NodeLabels> shared_labels() const { return labels_; }
  void set_labels(std::shared_ptr<const NodeLabels> labels) { labels_ = std::move(labels); }

  // For implicit resources one less than a pod can have, as in kube::Resources.
  std::int64_t free(std::size_t node, std::string_view resource) const;
  // Includes resources that no node has, as 0.
  kube::Resources free(std::size_t node) const;
  void set_free(std::size_t node, const kube::Resources& free);
  // The first resource (by name) that the node has too little of; empty: the pod fits.
  std::string_view first_lacking(std::size_t node, const kube::Resources& asked) const;
  // Negative `times` give it back. Saturates as kube::Resources do.
  void take(std::size_t node, const kube::Resources& amount, std::int64_t times = 1);

  // A copy with its own cache of verdicts. For use by many threads, and where users' constraints
  // must not stay in memory.
  Cluster for_one_plan() const;

  // Cached for the next call with equal constraints while any copy with these nodes lives. Cost of
  // the first call: one judgement for each kind of node, and one step per node.
  std::shared_ptr<const Verdicts> verdicts(const kube::PackedConstraints& constraints) const;
  // Judges one node alone, as verdicts() does all.
  kube::NodeFit fit(std::size_t node, const kube::PackedConstraints& constraints) const;

  // -- rows, for the planner

  // Resources that nodes list, without implicit resources; sorted by name.
  std::span<const std::string> columns() const;
  std::optional<std::size_t> column(std::string_view resource) const;
  const std::int64_t* free_row(std::size_t i) const { return free_.data() + i * width(); }
  const std::int64_t* allocatable_row(std::size_t i) const {
    return nodes_->allocatable.data() + i * width();
  }
  // Of all nodes together, without delegated amounts. Cost: nodes.
  kube::Resources allocatable() const;
  // Some node leaves some resource to kube-scheduler (kube/model/device_class.h).
  bool delegates() const { return nodes_ && nodes_->delegates; }
  // Every node that has the resource does so: amounts of it say nothing.
  bool is_delegated(std::size_t column) const { return nodes_->delegated[column]; }
  // Implicit resources that pods have taken, as negative amounts.
  const kube::Resources& implicit(std::size_t i) const { return implicit_[i]; }

 private:
  struct Memo {
    // By constraints. The oldest entries are evicted first.
    std::vector<std::pair<kube::PackedConstraints, std::shared_ptr<const Verdicts>>> known;
    std::size_t next = 0;
    // The constraints that fit() was last asked for: many pods in a row have the same.
    kube::UnpackedConstraints last;
  };
  struct Nodes {
    std::vector<std::shared_ptr<const kube::Node>> nodes;
    std::vector<std::string> columns;
    std::vector<std::int64_t> allocatable;  // rows
    std::vector<bool> delegated;            // by column
    bool delegates = false;
    bool has_soft_taints = false;  // kube::is_soft()
  };
  std::size_t width() const { return nodes_->columns.size(); }

  std::shared_ptr<const Nodes> nodes_;
  std::shared_ptr<const NodeLabels> labels_;  // null: no label means anything
  std::shared_ptr<Memo> memo_;
  std::vector<std::int64_t> free_;  // rows
  std::vector<kube::Resources> implicit_;
};

}  // namespace nervex::placement
