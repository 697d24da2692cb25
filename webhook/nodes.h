// webhook/nodes.h - which nodes does the webhook use to judge whether a job could ever run?
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

// Of the new object, and of the stored one if that may excuse it.
struct CapacityVerdict {
  std::optional<NeverFits> object;
  std::optional<NeverFits> stored;
};

// Watches nodes from Reflectors::start() on. Optional: the webhook also works without access to
// nodes. Thread-safe after construction.
class Nodes {
 public:
  // Both outlive this; `watches` also outlives the threads.
  Nodes(kube::Reflectors& watches, const Clock& clock);
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  // find_never_fitting() on all nodes, with a view cached for some seconds; judges `stored` (null:
  // none) only if `object` never fits. Finds nothing before the first complete list, or when too
  // many plans are in progress: a review must not wait for other users' jobs.
  CapacityVerdict find_never_fitting(const Json& object, const Json& stored = Json());

 private:
  std::shared_ptr<const placement::Cluster> view();

  const Clock& clock_;
  kube::Store<kube::Node> store_;
  Mutex mutex_;
  bool listed_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<const placement::Cluster> view_ GUARDED_BY(mutex_);
  MonoTime viewed_ GUARDED_BY(mutex_){};
  MemoryBudget plans_;  // memory of all concurrent plans
};

}  // namespace nervex::webhook
