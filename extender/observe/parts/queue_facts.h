// extender/observe/parts/queue_facts.h - which queues, namespaces and quotas exist, and how much do
// settled workloads use? A part of the cluster cache.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gang/objects.h"
#include "kube/model/objects.h"
#include "kube/model/quota.h"
#include "queue/facts.h"

namespace nervex::extender {

using queue::NamespacePtr;
using queue::QueuePtr;
using queue::QuotaPtr;

// Not thread-safe. Of each change, null means: no such object before, or none any more.
class QueueFacts {
 public:
  // Cost: queues, and settled workloads.
  void set(const QueuePtr& before, const QueuePtr& after);
  // Cost: namespaces, at the first change after facts().
  void set(const NamespacePtr& before, const NamespacePtr& after);
  void set(const QuotaPtr& before, const QuotaPtr& after);

  // The label whose value is the class of a node. Before all other calls.
  void set_class_label(std::string label) { class_label_ = std::move(label); }
  // Null: no such node before, or none any more. `is_in_use`: settled workloads may be there.
  void set_node(const kube::NodePtr& before, const kube::NodePtr& after, bool is_in_use);
  bool uses_classes() const { return tree().uses_classes(); }
  // The class of a node; "": it has none.
  std::string_view find_class(std::string_view node) const;
  // Since the last call a class has changed, or queues name classes now: count_classes() of the
  // settled workloads again.
  bool take_classes_changed() { return std::exchange(are_classes_changed_, false); }

  // The workloads of a PodGroup that is settled; null: it is not.
  void set_settled(const std::string& group_uid, queue::Settled::Workloads workloads) {
    settled_.set(group_uid, std::move(workloads));
  }
  void erase_settled(std::string_view group_uid) { settled_.erase(group_uid); }

  // See queue::find_home().
  std::string find_home(const gang::QueuePlace& place, std::string_view ns) const {
    return queue::find_home(tree(), *namespaces_, place, ns);
  }
  // See queue::find_home_of_pods().
  std::string find_home_of_pods(std::string_view named, std::string_view ns) const {
    return queue::find_home_of_pods(tree(), *namespaces_, named, ns);
  }
  // Since the last call queues or labels of namespaces have changed: find_home() may differ.
  bool take_homes_changed() { return std::exchange(are_homes_changed_, false); }

  const queue::QueueTree& tree() const { return settled_.tree(); }
  // It has a ResourceQuota.
  bool has_quota(std::string_view ns) const { return quotas_.find(ns) != quotas_.end(); }
  bool has_quotas() const { return !quotas_.empty(); }
  // With the quotas of these namespaces. Cost: these quotas.
  queue::Facts facts(const std::set<std::string_view>& quotas_of) const;

 private:
  std::map<std::string, QueuePtr> queues_;
  queue::SettledWorkloads settled_;
  std::string class_label_;
  std::map<std::string, std::string, std::less<>> classes_;  // of nodes that have one
  bool are_classes_changed_ = false;
  bool are_homes_changed_ = false;
  std::shared_ptr<queue::Namespaces> namespaces_ = std::make_shared<queue::Namespaces>();
  mutable bool are_namespaces_shared_ = false;  // other threads may read them
  std::map<std::string, std::map<std::string, QuotaPtr>, std::less<>> quotas_;  // by namespace
};

}  // namespace nervex::extender
