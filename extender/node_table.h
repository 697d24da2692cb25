// extender/node_table.h - what is used and held on each node? A part of Plans, guarded by its lock.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gang/plan.h"
#include "kube/model/node.h"
#include "kube/model/resources.h"

namespace nervex::extender {

using NodePtr = std::shared_ptr<const kube::Node>;

// Pods and places may name nodes that are not known yet, or no more: they count once it is.
class NodeTable {
 public:
  void set_node(const std::string& name, const NodePtr& node);  // null: gone

  // Capacity that pods occupy.
  void use(const std::string& node, const kube::Resources& amount);
  void stop_using(const std::string& node, const kube::Resources& amount);
  // Capacity of places whose pod is not bound.
  void hold(const std::string& node, const kube::Resources& amount, bool committed);
  void release(const std::string& node, const kube::Resources& amount, bool committed);

  // Known nodes by name, free = allocatable - used - held by committed gangs.
  std::vector<gang::NodeView> views() const;
  std::optional<gang::NodeView> view(std::string_view name) const;
  // allocatable - used - all that is held; nullopt if nothing is held on it.
  std::optional<kube::Resources> spare_beside_held(std::string_view name) const;

 private:
  struct Entry {
    NodePtr node;
    kube::Resources used;
    kube::Resources held;  // committed or not
    kube::Resources held_committed;
  };
  void drop_if_empty(const std::string& name);

  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace nervex::extender
