// extender/observe/parts/node_table.h - how much of each node is used, reserved and free?
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gang/objects.h"
#include "kube/model/objects.h"
#include "kube/model/resources.h"
#include "placement/cluster.h"
#include "planner/bind/bind_view.h"
#include "planner/facts/snapshot.h"
#include "planner/work/waiting.h"

namespace nervex::extender {

// Used and reserved capacity of each node. Pods and placements may name unknown nodes (not yet
// seen, or deleted): they count as soon as the node is known.
class NodeTable {
 public:
  void set_node(const std::string& name, const kube::NodePtr& node);  // null: deleted
  // Resources that a DeviceClass backs, sorted: nodes that do not list them have as much of them as
  // is asked for, here and in all views (kube::with_delegated). False: they are these already.
  bool set_delegated(std::vector<std::string> resources);

  // All clusters get these labels. Call before any other.
  void set_labels(const placement::NodeLabels& labels) {
    labels_ = std::make_shared<const placement::NodeLabels>(labels);
  }

  // Capacity that pods occupy.
  void use(const std::string& node, const kube::Resources& amount);
  void stop_using(const std::string& node, const kube::Resources& amount);
  // Capacity of placements whose pods are not bound.
  void reserve(const std::string& node, const kube::Resources& amount, bool committed);
  void release(const std::string& node, const kube::Resources& amount, bool committed);
  // Capacity that pods outside of gangs are nominated for. `stays`: it is now used, or nominated
  // again; otherwise the node has gained it.
  void nominate(const std::string& node, int priority, const kube::Resources& amount);
  void withdraw(const std::string& node, int priority, const kube::Resources& amount, bool stays);
  std::vector<planner::Nominated> nominated() const;

  // Known nodes, free = allocatable - used - reserved for committed gangs. Cached: a call costs the
  // nodes whose capacity changed since the last one, or all nodes if one was added, deleted or
  // relevantly changed. Use a copy on one thread only.
  const placement::Cluster& cluster() const;
  // Known nodes by name, free = allocatable - used - all reserved. Cost: nodes, and arithmetic for
  // those that changed since the last call.
  std::vector<placement::NodeView> spare_views() const;
  // Net changes since the last call; all nodes at the first call. Cost: nodes that were touched.
  std::vector<planner::NodeChange> take_changes();
  // Nodes on which pods request more than there is. A pod that names its node itself may request
  // any amount. Nodes that are not known have nothing.
  const std::set<std::string, std::less<>>& overused() const { return overused_; }
  // The requests, or as much of them as the node has in all.
  kube::Resources limit_to_node(std::string_view name, const kube::Resources& requests) const;
  // Something was placed there, even if the node is not known.
  bool is_in_use(std::string_view name) const;
  // Something is reserved on this node, and it exceeds the capacity beside nominated pods.
  bool is_overfull(std::string_view name) const;
  // For a request of this priority: capacity of nominated pods of the same or a higher priority is
  // not free.
  std::optional<placement::NodeView> view(std::string_view name, int priority) const;
  // The same for several, in this order, without unknown ones.
  std::vector<placement::NodeView> views(const std::set<std::string_view>& names,
                                         int priority) const;
  // nullopt if nothing is reserved on it.
  std::optional<planner::ReservedNode> reserved_node(std::string_view name) const;

 private:
  struct Entry {
    kube::NodePtr stored;  // as the API server has it
    kube::NodePtr node;    // with delegated resources
    kube::Resources used;
    kube::Resources reserved;  // committed or not
    kube::Resources reserved_committed;
    // allocatable - used - reserved_committed, if `is_free_known`.
    mutable kube::Resources free;
    mutable bool is_free_known = false;
    // As take_changes() left it. An unknown node has no spare capacity.
    kube::NodePtr shown_node;
    kube::Resources shown_spare;
    bool is_touched = false;          // since take_changes(): its name is in touched_
    bool has_lost_nominated = false;  // since take_changes(): a nominated pod was withdrawn
    mutable std::size_t row = 0;      // in cluster_
    mutable bool is_changed = false;  // since cluster_ has read it
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  kube::NodePtr with_delegated(const kube::NodePtr& node);
  // The entry is about to change.
  Entry& touch(const std::string& name);
  void drop_if_empty(const std::string& name);
  void note_overuse(const std::string& name, const Entry& entry);
  static const kube::Resources& free_resources(const Entry& entry);
  static kube::Resources spare_resources(const Entry& entry);
  void rebuild() const;

  Entries entries_;
  std::set<std::string, std::less<>> overused_;
  // By node and priority. Not part of `spare`: requests of a higher priority may take it.
  std::map<std::string, std::map<int, kube::Resources>, std::less<>> nominated_;
  std::vector<std::string> delegated_;
  // The last node's resources, without and with the delegated ones: many nodes share them.
  std::pair<kube::Resources, kube::Resources> last_delegated_;
  bool are_changes_taken_ = false;  // false: changes are not collected (not the leader)
  std::vector<std::string> touched_;
  // The cluster() cache, and what changed since.
  std::shared_ptr<const placement::NodeLabels> labels_;
  mutable placement::Cluster cluster_;
  mutable bool is_outdated_ = true;              // rebuild all of it
  mutable std::vector<const Entry*> changed_{};  // otherwise: known nodes that changed
};

}  // namespace nervex::extender
