#include "queue/tree.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace nervex::queue {
namespace {

std::int64_t add_amounts(std::int64_t a, std::int64_t b) {  // neither is negative
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// The class's amount, 0 if new.
std::int64_t& class_amount(ResourceBound& bound, const std::string& node_class) {
  const auto at = std::lower_bound(
      bound.classes.begin(), bound.classes.end(), node_class,
      [](const auto& each, const std::string& name) { return each.node_class < name; });
  if (at != bound.classes.end() && at->node_class == node_class) return at->amount;
  return bound.classes.insert(at, {node_class, 0})->amount;
}

ResourceBound& insert_bound(Bounds& bounds, const std::string& resource) {
  const auto at = std::lower_bound(
      bounds.begin(), bounds.end(), resource,
      [](const ResourceBound& bound, const std::string& name) { return bound.resource < name; });
  if (at != bounds.end() && at->resource == resource) return *at;
  return *bounds.insert(at, {resource, std::nullopt, {}});
}

// Adds a part's quota to that of its siblings. If one of them is guaranteed an amount on any nodes,
// so is the sum: which classes that will be is not known.
void add_quota(Bounds& sum, const Bounds& quota) {
  for (const ResourceBound& bound : quota) {
    ResourceBound& all = insert_bound(sum, bound.resource);
    if (bound.total || all.total) {
      all.total = add_amounts(guaranteed_amount(all), guaranteed_amount(bound));
      all.classes.clear();
      continue;
    }
    for (const auto& [node_class, amount] : bound.classes) {
      std::int64_t& class_sum = class_amount(all, node_class);
      class_sum = add_amounts(class_sum, amount);
    }
  }
}

// A queue guarantees at least what its parts do.
void raise_quota(Bounds& quota, const Bounds& parts) {
  for (const ResourceBound& sum : parts) {
    if (find_bound(quota, sum.resource) == nullptr) {
      insert_bound(quota, sum.resource) = sum;
      continue;
    }
    ResourceBound& bound = insert_bound(quota, sum.resource);
    if (bound.total) bound.total = std::max(*bound.total, guaranteed_amount(sum));
    if (bound.classes.empty()) continue;  // any nodes: those of its parts are among them
    for (const auto& [node_class, amount] : sum.classes) {
      std::int64_t& own = class_amount(bound, node_class);
      own = std::max(own, amount);
    }
  }
}

}  // namespace

QueueTree::QueueTree(std::vector<QueuePtr> queues) {
  std::sort(queues.begin(), queues.end(),
            [](const QueuePtr& a, const QueuePtr& b) { return a->name < b->name; });
  nodes_.reserve(queues.size() + 1);
  nodes_.push_back({std::make_shared<const Queue>()});
  for (QueuePtr& queue : queues) nodes_.push_back({std::move(queue)});
  const auto has_classes = [](const ResourceBound& bound) { return !bound.classes.empty(); };
  uses_classes_ = std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    const Queue& queue = *node.queue;
    return std::any_of(queue.quota.begin(), queue.quota.end(), has_classes) ||
           std::any_of(queue.limit.begin(), queue.limit.end(), has_classes);
  });
  uses_preemption_ = std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.queue->reclaim != Queue::Reclaim::kNever ||
           node.queue->preemption != Queue::Preemption::kNever;
  });
  resolve_parents();
  break_cycles();
  inherit();
}

std::optional<QueueIndex> QueueTree::find(std::string_view name) const {
  if (name.empty()) return kRoot;
  const auto at = std::lower_bound(
      nodes_.begin(), nodes_.end(), name,
      [](const Node& node, std::string_view wanted) { return node.queue->name < wanted; });
  if (at == nodes_.end() || at->queue->name != name) return std::nullopt;
  return static_cast<QueueIndex>(at - nodes_.begin());
}

void QueueTree::resolve_parents() {
  for (QueueIndex i = kRoot + 1; i < nodes_.size(); ++i) {
    const Queue& queue = *nodes_[i].queue;
    if (const auto parent = find(queue.parent)) {
      nodes_[i].parent = *parent;
    } else {
      nodes_[i].problem = ParentNotFound{queue.name, queue.parent};
    }
  }
}

// Walks up from each queue until it meets one that is known to lead to the root, or itself.
void QueueTree::break_cycles() {
  std::vector<bool> is_checked(nodes_.size(), false);
  is_checked[kRoot] = true;
  for (QueueIndex i = kRoot + 1; i < nodes_.size(); ++i) {
    std::vector<QueueIndex> path;
    QueueIndex at = i;
    for (; !is_checked[at]; at = nodes_[at].parent) {
      is_checked[at] = true;
      path.push_back(at);
    }
    const auto first = std::find(path.begin(), path.end(), at);
    if (first == path.end()) continue;
    // Begins with the first name, so that all of its queues say the same.
    std::rotate(first, std::min_element(first, path.end()), path.end());
    QueueCycle cycle;
    for (auto queue = first; queue != path.end(); ++queue) {
      cycle.queues.push_back(nodes_[*queue].queue->name);
    }
    for (auto queue = first; queue != path.end(); ++queue) {
      nodes_[*queue].parent = kRoot;
      nodes_[*queue].problem = cycle;
    }
  }
}

// From the root down: children, depth and problems; from the leaves up: quotas.
void QueueTree::inherit() {
  for (QueueIndex i = kRoot + 1; i < nodes_.size(); ++i) {
    nodes_[nodes_[i].parent].children.push_back(i);
  }
  std::vector<QueueIndex> downwards{kRoot};
  for (std::size_t next = 0; next < downwards.size(); ++next) {
    Node& node = nodes_[downwards[next]];
    const Node& parent = nodes_[node.parent];
    if (downwards[next] != kRoot) node.depth = parent.depth + 1;
    if (!node.problem) node.problem = parent.problem;
    if (!node.problem && !node.queue->unreadable.empty()) {
      node.problem = QueueUnreadable{node.queue->name, node.queue->unreadable};
    }
    if (!node.problem && node.queue->stop != Queue::Stop::kNone) {
      node.problem = QueueStopped{node.queue->name};
    }
    node.is_drained = parent.is_drained || node.queue->stop == Queue::Stop::kHoldAndDrain;
    downwards.insert(downwards.end(), node.children.begin(), node.children.end());
  }
  for (auto queue = downwards.rbegin(); queue != downwards.rend(); ++queue) {
    Bounds parts;
    for (const QueueIndex child : nodes_[*queue].children) add_quota(parts, nodes_[child].quota);
    nodes_[*queue].quota = nodes_[*queue].queue->quota;
    raise_quota(nodes_[*queue].quota, parts);
  }
}

const Inadmissible* QueueTree::problem(QueueIndex queue) const {
  const auto& problem = nodes_[queue].problem;
  return problem ? &*problem : nullptr;
}

std::optional<std::int64_t> QueueTree::max_runtime_seconds(QueueIndex queue) const {
  std::optional<std::int64_t> least = nodes_[queue].queue->max_runtime_seconds;
  for (; queue != kRoot; queue = parent(queue)) {
    const auto& more = nodes_[parent(queue)].queue->max_runtime_seconds;
    if (more && (!least || *more < *least)) least = more;
  }
  return least;
}

std::vector<std::string> QueueTree::list_parents(QueueIndex queue) const {
  constexpr std::size_t kMost = 64;  // as in the schema of PodGroups
  std::vector<std::string> names;
  for (queue = parent(queue); queue != kRoot && names.size() < kMost; queue = parent(queue)) {
    names.push_back(nodes_[queue].queue->name);
  }
  return names;
}

namespace {

// Without those that another of them is a part of.
std::vector<QueueIndex> list_selecting(const QueueTree& tree, const kube::Namespace& ns) {
  std::set<QueueIndex> selecting;
  for (QueueIndex i = kRoot + 1; i < tree.size(); ++i) {
    if (kube::matches(tree[i].namespace_selector, ns.meta.labels)) selecting.insert(i);
  }
  std::set<QueueIndex> narrowest = selecting;
  for (const QueueIndex queue : selecting) {
    for (QueueIndex above = queue; above != kRoot;) {
      above = tree.parent(above);
      narrowest.erase(above);
    }
  }
  return {narrowest.begin(), narrowest.end()};
}

std::variant<QueueIndex, Inadmissible> find_named(const QueueTree& tree, const std::string& name,
                                                  const kube::Namespace& ns) {
  const auto queue = tree.find(name);
  if (!queue) return QueueNotFound{name};
  if (const std::string& why = tree[*queue].unreadable; !why.empty()) {
    return QueueUnreadable{name, why};
  }
  if (!kube::matches(tree[*queue].namespace_selector, ns.meta.labels)) {
    return NamespaceNotSelected{name, ns.meta.name};
  }
  return *queue;
}

}  // namespace

std::variant<QueueIndex, Inadmissible> find_queue(const QueueTree& tree, std::string_view wanted,
                                                  const kube::Namespace& ns) {
  const std::string_view named =
      wanted.empty() ? std::string_view(kube::label(ns.meta, kQueueLabel)) : wanted;
  if (!named.empty()) return find_named(tree, std::string(named), ns);
  const auto selecting = list_selecting(tree, ns);
  if (selecting.empty()) return kRoot;
  if (selecting.size() == 1) return selecting.front();
  QueueAmbiguous ambiguous{ns.meta.name, {}};
  for (const QueueIndex queue : selecting) ambiguous.queues.push_back(tree[queue].name);
  return ambiguous;
}

std::vector<QueueAmbiguous> find_ambiguous(const QueueTree& tree,
                                           std::span<const kube::Namespace> namespaces) {
  std::vector<QueueAmbiguous> found;
  for (const kube::Namespace& ns : namespaces) {
    const auto queue = find_queue(tree, "", ns);
    const auto* reason = std::get_if<Inadmissible>(&queue);
    const auto* ambiguous = reason == nullptr ? nullptr : std::get_if<QueueAmbiguous>(reason);
    if (ambiguous != nullptr) found.push_back(*ambiguous);
  }
  return found;
}

}  // namespace nervex::queue
