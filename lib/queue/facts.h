// queue/facts.h - what a scheduling cycle knows of queues, quotas and their use. Values.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kube/model/namespace.h"
#include "queue/quota.h"
#include "queue/settled.h"
#include "queue/tree.h"
#include "queue/workload.h"

namespace nervex::queue {

using NamespacePtr = std::shared_ptr<const kube::Namespace>;
using Namespaces = std::map<std::string, NamespacePtr, std::less<>>;  // by name

// The name of the queue in which a workload counts that has nodes. That of `place`, while the Queue
// exists. If it was deleted, or renamed, which is the same: the queue of the namespace, as for a
// new job that names none; if that is the root, the first of its former parents that exists; else
// the root.
std::string find_home(const QueueTree& tree, const Namespaces& namespaces,
                      const gang::QueuePlace& place, std::string_view ns);

// The name of the queue in which pods count whose PodGroup does not exist. `named`: what the pods
// say, which anyone may write who may create pods: it is believed only if that queue selects the
// namespace. Otherwise the queue of the namespace, or the root.
std::string find_home_of_pods(const QueueTree& tree, const Namespaces& namespaces,
                              std::string_view named, std::string_view ns);

// Copies share the parts, which never change.
struct Facts {
  std::shared_ptr<const Settled> settled = std::make_shared<const Settled>();  // and the queues
  std::shared_ptr<const Namespaces> namespaces = std::make_shared<const Namespaces>();
  std::string class_label{};       // whose value is the class of a node; empty: nodes have no class
  std::vector<QuotaPtr> quotas{};  // of namespaces with PodGroups; by namespace and name
  // What pods use whose PodGroup was deleted, or is being deleted, with the names of their queues.
  // Empty if there are no queues.
  std::vector<Workload> orphaned{};

  const QueueTree& tree() const { return *settled->tree; }
  // Of a namespace that was not seen yet nothing is known but the root, if there are no queues.
  std::variant<QueueIndex, Inadmissible> find_queue(std::string_view wanted,
                                                    std::string_view ns) const;
  // The queue of what names none. nullopt: the namespace was not seen yet, or has no queue.
  std::optional<QueueIndex> find_default_queue(std::string_view ns) const;
};

}  // namespace nervex::queue
