// webhook/nodes.h - the cluster's nodes, for judging whether a job could ever run.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/cache/reflectors.h"
#include "kube/cache/store.h"
#include "kube/model/node.h"
#include "webhook/capacity.h"

namespace nervex::webhook {

// Watches nodes from Reflectors::start() on. Optional: a webhook that cannot see them goes on
// without. Thread-safe once it is constructed.
class Nodes {
 public:
  // Both outlive this, and `watches` the threads.
  Nodes(kube::Reflectors& watches, const Clock& clock);
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  // find_never_fitting() on all nodes; nullopt before the first complete list. A view of them is
  // kept for some seconds. One caller at a time: planning shares what it finds out about nodes.
  std::optional<NeverFits> find_never_fitting(const Json& object);

 private:
  const Clock& clock_;
  kube::Store<kube::Node> store_;
  Mutex mutex_;
  bool listed_ GUARDED_BY(mutex_) = false;
  std::optional<gang::Cluster> view_ GUARDED_BY(mutex_);
  MonoTime viewed_ GUARDED_BY(mutex_){};
};

}  // namespace nervex::webhook
