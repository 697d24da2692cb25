#include "extender/observe/parts/queue_facts.h"

#include <utility>

namespace nervex::extender {

void QueueFacts::set(const QueuePtr& before, const QueuePtr& after) {
  if (after) {
    queues_[after->name] = after;
  } else {
    queues_.erase(before->name);
  }
  std::vector<QueuePtr> queues;
  queues.reserve(queues_.size());
  for (const auto& [name, queue] : queues_) queues.push_back(queue);
  const auto tree = std::make_shared<const queue::QueueTree>(std::move(queues));
  are_classes_changed_ = are_classes_changed_ || tree->uses_classes();
  are_homes_changed_ = true;
  settled_.set_tree(tree);
}

void QueueFacts::set_node(const kube::NodePtr& before, const kube::NodePtr& after, bool is_in_use) {
  const auto read = [this](const kube::NodePtr& node) -> std::string {
    if (!node || class_label_.empty()) return "";
    const auto label = node->labels.find(class_label_);
    return label == node->labels.end() ? "" : label->second.str();
  };
  const std::string node_class = read(after);
  if (read(before) == node_class) return;
  if (node_class.empty()) {
    classes_.erase(before->name);
  } else {
    classes_.insert_or_assign(after->name, node_class);
  }
  are_classes_changed_ = are_classes_changed_ || (is_in_use && uses_classes());
}

std::string_view QueueFacts::find_class(std::string_view node) const {
  const auto known = classes_.find(node);
  return known == classes_.end() ? std::string_view() : std::string_view(known->second);
}

void QueueFacts::set(const NamespacePtr& before, const NamespacePtr& after) {
  are_homes_changed_ =
      are_homes_changed_ || !before || !after || before->meta.labels != after->meta.labels;
  if (are_namespaces_shared_) namespaces_ = std::make_shared<queue::Namespaces>(*namespaces_);
  are_namespaces_shared_ = false;
  if (after) {
    (*namespaces_)[after->meta.name] = after;
  } else {
    namespaces_->erase(before->meta.name);
  }
}

void QueueFacts::set(const QuotaPtr& before, const QuotaPtr& after) {
  const kube::Meta& meta = (after ? after : before)->meta;
  auto& quotas = quotas_[meta.ns];
  if (after) {
    quotas[meta.name] = after;
  } else {
    quotas.erase(meta.name);
  }
  if (quotas.empty()) quotas_.erase(meta.ns);
}

queue::Facts QueueFacts::facts(const std::set<std::string_view>& quotas_of) const {
  queue::Facts facts{settled_.get(), namespaces_, class_label_};
  are_namespaces_shared_ = true;
  for (const std::string_view ns : quotas_of) {
    const auto quotas = quotas_.find(ns);
    if (quotas == quotas_.end()) continue;
    for (const auto& [name, quota] : quotas->second) facts.quotas.push_back(quota);
  }
  return facts;
}

}  // namespace nervex::extender
