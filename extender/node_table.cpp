#include "extender/node_table.h"

namespace nervex::extender {
namespace {

gang::NodeView view_of(const NodePtr& node, const kube::Resources& used,
                       const kube::Resources& held) {
  gang::NodeView view{node, node->allocatable};
  view.free -= used;
  view.free -= held;
  return view;
}

}  // namespace

void NodeTable::set_node(const std::string& name, const NodePtr& node) {
  entries_[name].node = node;
  drop_if_empty(name);
}

void NodeTable::use(const std::string& node, const kube::Resources& amount) {
  entries_[node].used += amount;
}

void NodeTable::stop_using(const std::string& node, const kube::Resources& amount) {
  entries_[node].used -= amount;
  drop_if_empty(node);
}

void NodeTable::hold(const std::string& node, const kube::Resources& amount, bool committed) {
  Entry& entry = entries_[node];
  entry.held += amount;
  if (committed) entry.held_committed += amount;
}

void NodeTable::release(const std::string& node, const kube::Resources& amount, bool committed) {
  Entry& entry = entries_[node];
  entry.held -= amount;
  if (committed) entry.held_committed -= amount;
  drop_if_empty(node);
}

std::vector<gang::NodeView> NodeTable::views() const {
  std::vector<gang::NodeView> views;
  views.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    if (entry.node) views.push_back(view_of(entry.node, entry.used, entry.held_committed));
  }
  return views;
}

std::optional<gang::NodeView> NodeTable::view(std::string_view name) const {
  const auto at = entries_.find(name);
  if (at == entries_.end() || !at->second.node) return std::nullopt;
  return view_of(at->second.node, at->second.used, at->second.held_committed);
}

std::optional<kube::Resources> NodeTable::spare_beside_held(std::string_view name) const {
  const auto at = entries_.find(name);
  if (at == entries_.end() || !at->second.node || at->second.held.empty()) return std::nullopt;
  return view_of(at->second.node, at->second.used, at->second.held).free;
}

void NodeTable::drop_if_empty(const std::string& name) {
  const auto at = entries_.find(name);
  const Entry& entry = at->second;
  if (!entry.node && entry.used.empty() && entry.held.empty()) entries_.erase(at);
}

}  // namespace nervex::extender
