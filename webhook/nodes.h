// webhook/nodes.h - which nodes does the webhook use to judge whether a job could ever run?
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/expiring_cache.h"
#include "base/memory_budget.h"
#include "base/mutex.h"
#include "base/sip_hash.h"
#include "kube/cache/reflectors.h"
#include "kube/cache/store.h"
#include "kube/model/device_class.h"
#include "kube/model/node.h"
#include "webhook/capacity.h"

namespace nervex::webhook {

// Of the new object, and of the stored one if that may excuse it.
struct CapacityVerdict {
  std::optional<NeverFits> object;
  std::optional<NeverFits> stored;
};

// Watches nodes and DeviceClasses from Reflectors::start() on. Optional: the webhook also works
// without access to them. Thread-safe after construction.
class Nodes {
 public:
  // Both outlive this; `watches` also outlives the threads.
  Nodes(kube::Reflectors& watches, const Clock& clock);
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  // find_never_fitting() on all nodes; judges `stored` (null: none) only if `object` never fits.
  // Finds nothing before the first complete lists, or when too many plans are in progress: a review
  // must not wait for other users' jobs. A change of nodes counts within some seconds. Until then
  // answers are kept by hash_needs(), bounded in bytes.
  CapacityVerdict find_never_fitting(const Json& object, const Json& stored = Json());

 private:
  using NodeList = std::vector<std::shared_ptr<const kube::Node>>;
  struct View {
    std::uint64_t version = 0;  // another one for other nodes
    NodeList nodes;
    std::vector<std::string> delegated;  // resources that a DeviceClass backs
    placement::Cluster cluster;
  };

  // Null before the first complete lists.
  std::shared_ptr<const View> view();
  std::optional<NeverFits> judge(const Json& object, const View& view);
  std::optional<std::optional<NeverFits>> known(const Hash128& needs);

  const Clock& clock_;
  const SipHash::Key hash_key_ = SipHash::random_key();
  kube::Store<kube::Node> store_;
  kube::Store<kube::DeviceClass> classes_;
  Mutex mutex_;
  bool are_nodes_listed_ GUARDED_BY(mutex_) = false;
  bool are_classes_listed_ GUARDED_BY(mutex_) = false;  // or there is no such kind
  std::shared_ptr<const View> view_ GUARDED_BY(mutex_);
  MonoTime viewed_ GUARDED_BY(mutex_){};
  // By the view's version and hash_needs().
  ExpiringCache<std::optional<NeverFits>, Hash128> answers_ GUARDED_BY(mutex_);
  MemoryBudget plans_;  // memory of all concurrent plans
};

}  // namespace nervex::webhook
