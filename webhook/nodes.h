// webhook/nodes.h - the cluster's nodes, for judging whether a job could ever run.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/mutex.h"
#include "kube/cache/reflectors.h"
#include "kube/cache/store.h"
#include "kube/model/node.h"
#include "webhook/capacity.h"

namespace nervex::webhook {

// What is asked for, and what is stored where that may excuse it.
struct CapacityVerdict {
  std::optional<NeverFits> object;
  std::optional<NeverFits> stored;
};

// Watches nodes from Reflectors::start() on. Optional: a webhook that cannot see them goes on
// without. Thread-safe once it is constructed.
class Nodes {
 public:
  // Both outlive this, and `watches` the threads.
  Nodes(kube::Reflectors& watches, const Clock& clock);
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  // find_never_fitting() on all nodes, of which a view is kept for some seconds; of `stored` (null:
  // there is none) only if `object` never fits. Finds nothing before the first complete list, nor
  // when too many others are at it: a review must not wait for other users' jobs.
  CapacityVerdict find_never_fitting(const Json& object, const Json& stored = Json());

 private:
  std::shared_ptr<const placement::Cluster> view();

  const Clock& clock_;
  kube::Store<kube::Node> store_;
  Mutex mutex_;
  bool listed_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<const placement::Cluster> view_ GUARDED_BY(mutex_);
  MonoTime viewed_ GUARDED_BY(mutex_){};
  MemoryBudget plans_;  // of all plans at once
};

}  // namespace nervex::webhook
