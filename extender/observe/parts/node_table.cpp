#include "extender/observe/parts/node_table.h"

#include <algorithm>
#include <utility>

#include "kube/model/device_class.h"

namespace nervex::extender {
namespace {

placement::NodeView make_node_view(const kube::NodePtr& node, const kube::Resources& used,
                                   const kube::Resources& reserved) {
  placement::NodeView view{node, node->allocatable};
  view.free -= used;
  view.free -= reserved;
  return view;
}

}  // namespace

void NodeTable::set_node(const std::string& name, const kube::NodePtr& node) {
  Entry& entry = touch(name);
  kube::NodePtr seen = with_delegated(node);
  if (planner::matters(entry.node, seen)) {
    is_outdated_ = true;
    changed_.clear();
  }
  entry.stored = node;
  entry.node = std::move(seen);
  note_overuse(name, entry);
  drop_if_empty(name);
}

bool NodeTable::set_delegated(std::vector<std::string> resources) {
  if (resources == delegated_) return false;
  delegated_ = std::move(resources);
  last_delegated_ = {};
  for (const auto& [name, entry] : entries_) {
    if (entry.stored) set_node(name, kube::NodePtr(entry.stored));
  }
  return true;
}

kube::NodePtr NodeTable::with_delegated(const kube::NodePtr& node) {
  if (!node || delegated_.empty()) return node;
  auto& [before, after] = last_delegated_;
  if (before != node->allocatable || before.empty()) {
    after = kube::with_delegated(node->allocatable, delegated_);
    before = node->allocatable;
  }
  if (after == before) return node;
  kube::Node copy = *node;
  copy.allocatable = after;
  return std::make_shared<const kube::Node>(std::move(copy));
}

void NodeTable::use(const std::string& node, const kube::Resources& amount) {
  Entry& entry = touch(node);
  entry.used += amount;
  note_overuse(node, entry);
}

void NodeTable::stop_using(const std::string& node, const kube::Resources& amount) {
  Entry& entry = touch(node);
  entry.used -= amount;
  note_overuse(node, entry);
  drop_if_empty(node);
}

void NodeTable::note_overuse(const std::string& name, const Entry& entry) {
  const bool is_overused =
      !entry.used.empty() && (!entry.node || !entry.used.fits_in(entry.node->allocatable));
  if (is_overused) {
    overused_.insert(name);
  } else if (!overused_.empty()) {
    overused_.erase(name);
  }
}

kube::Resources NodeTable::limit_to_node(std::string_view name,
                                         const kube::Resources& requests) const {
  if (overused_.count(name) == 0) return requests;
  const auto at = entries_.find(name);
  const bool is_known = at != entries_.end() && at->second.node;
  kube::Resources limited;
  for (const auto& [resource, amount] : requests.amounts()) {
    const std::int64_t most = is_known ? at->second.node->allocatable.get(resource) : 0;
    limited.set(resource, std::min(amount, most));
  }
  return limited;
}

void NodeTable::reserve(const std::string& node, const kube::Resources& amount, bool committed) {
  Entry& entry = touch(node);
  entry.reserved += amount;
  if (committed) entry.reserved_committed += amount;
}

void NodeTable::release(const std::string& node, const kube::Resources& amount, bool committed) {
  Entry& entry = touch(node);
  entry.reserved -= amount;
  if (committed) entry.reserved_committed -= amount;
  drop_if_empty(node);
}

void NodeTable::nominate(const std::string& node, int priority, const kube::Resources& amount) {
  nominated_[node][priority] += amount;
}

void NodeTable::withdraw(const std::string& node, int priority, const kube::Resources& amount,
                         bool stays) {
  const auto at = nominated_.find(node);
  const auto pods = at->second.find(priority);
  pods->second -= amount;
  if (pods->second.empty()) at->second.erase(pods);
  if (at->second.empty()) nominated_.erase(at);
  if (stays) return;
  touch(node).has_lost_nominated = true;
  drop_if_empty(node);
}

std::vector<planner::Nominated> NodeTable::nominated() const {
  std::vector<planner::Nominated> all;
  for (const auto& [node, by_priority] : nominated_) {
    for (const auto& [priority, requests] : by_priority) {
      all.push_back({node, priority, requests});
    }
  }
  return all;
}

void NodeTable::rebuild() const {
  std::vector<placement::NodeView> views;
  views.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    entry.is_changed = false;
    if (!entry.node) continue;
    entry.row = views.size();
    views.push_back({entry.node, free_resources(entry)});
  }
  cluster_ = placement::Cluster(views);
  cluster_.set_labels(labels_);
}

const placement::Cluster& NodeTable::cluster() const {
  if (is_outdated_) rebuild();
  is_outdated_ = false;
  for (const Entry* entry : changed_) {
    entry->is_changed = false;
    cluster_.set_free(entry->row, free_resources(*entry));
  }
  changed_.clear();
  return cluster_;
}

std::vector<placement::NodeView> NodeTable::spare_views() const {
  std::vector<placement::NodeView> views;
  views.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    if (entry.node) views.push_back({entry.node, spare_resources(entry)});
  }
  return views;
}

std::optional<placement::NodeView> NodeTable::view(std::string_view name, int priority) const {
  const auto at = entries_.find(name);
  if (at == entries_.end() || !at->second.node) return std::nullopt;
  placement::NodeView view{at->second.node, free_resources(at->second)};
  const auto nominated = nominated_.find(name);
  if (nominated == nominated_.end()) return view;
  for (const auto& [pods_priority, requests] : nominated->second) {
    if (pods_priority >= priority) view.free -= requests;
  }
  return view;
}

std::vector<placement::NodeView> NodeTable::views(const std::set<std::string_view>& names,
                                                  int priority) const {
  std::vector<placement::NodeView> nodes;
  for (const std::string_view name : names) {
    if (auto known = view(name, priority)) nodes.push_back(*std::move(known));
  }
  return nodes;
}

std::optional<planner::ReservedNode> NodeTable::reserved_node(std::string_view name) const {
  const auto at = entries_.find(name);
  if (at == entries_.end() || at->second.reserved.empty()) return std::nullopt;
  if (!at->second.node) return planner::ReservedNode{at->first, std::nullopt};
  return planner::ReservedNode{at->first, spare_resources(at->second)};
}

bool NodeTable::is_in_use(std::string_view name) const {
  const auto at = entries_.find(name);
  return at != entries_.end() && !(at->second.used.empty() && at->second.reserved.empty());
}

bool NodeTable::is_overfull(std::string_view name) const {
  auto node = reserved_node(name);
  if (!node || !node->spare) return false;
  if (const auto nominated = nominated_.find(name); nominated != nominated_.end()) {
    for (const auto& [priority, requests] : nominated->second) *node->spare -= requests;
  }
  const auto& amounts = node->spare->amounts();
  return std::any_of(amounts.begin(), amounts.end(), [](const kube::ResourceAmount& amount) {
    return kube::requestable(amount.name, amount.amount) < 0;
  });
}

std::vector<planner::NodeChange> NodeTable::take_changes() {
  std::vector<planner::NodeChange> changes;
  if (!are_changes_taken_) {
    are_changes_taken_ = true;
    for (const auto& [name, entry] : entries_) touched_.push_back(name);
  }
  for (const std::string& name : touched_) {
    const auto at = entries_.find(name);
    if (at == entries_.end()) continue;
    Entry& entry = at->second;
    entry.is_touched = false;
    kube::Resources spare = entry.node ? spare_resources(entry) : kube::Resources();
    const bool is_other = planner::matters(entry.shown_node, entry.node);
    if (is_other || spare != entry.shown_spare || entry.has_lost_nominated) {
      changes.push_back({is_other ? entry.shown_node : entry.node, entry.node, entry.shown_spare,
                         spare, entry.has_lost_nominated});
      entry.has_lost_nominated = false;
      entry.shown_spare = std::move(spare);
    }
    entry.shown_node = entry.node;
    drop_if_empty(name);
  }
  touched_.clear();
  return changes;
}

NodeTable::Entry& NodeTable::touch(const std::string& name) {
  Entry& entry = entries_[name];
  entry.is_free_known = false;
  if (are_changes_taken_ && !entry.is_touched) {
    touched_.push_back(name);
    entry.is_touched = true;
  }
  if (!is_outdated_ && entry.node && !entry.is_changed) {
    changed_.push_back(&entry);
    entry.is_changed = true;
  }
  return entry;
}

const kube::Resources& NodeTable::free_resources(const Entry& entry) {
  if (!entry.is_free_known) {
    entry.free = make_node_view(entry.node, entry.used, entry.reserved_committed).free;
    entry.is_free_known = true;
  }
  return entry.free;
}

kube::Resources NodeTable::spare_resources(const Entry& entry) {
  if (entry.reserved == entry.reserved_committed) return free_resources(entry);
  return make_node_view(entry.node, entry.used, entry.reserved).free;
}

void NodeTable::drop_if_empty(const std::string& name) {
  const auto at = entries_.find(name);
  const Entry& entry = at->second;
  // One that was touched is dropped when its change is taken.
  if (!entry.node && entry.used.empty() && entry.reserved.empty() && !entry.is_touched) {
    entries_.erase(at);
  }
}

}  // namespace nervex::extender
