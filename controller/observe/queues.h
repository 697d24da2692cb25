// controller/observe/queues.h - which queues stop what runs in them?
#pragma once

#include <memory>

#include "base/mutex.h"
#include "kube/cache/store.h"
#include "queue/queue.h"
#include "queue/tree.h"

namespace nervex::controller {

// The Queues as a tree, made again after each change. Thread-safe.
class CachedQueues {
 public:
  // Not null: without Queues it has the root alone.
  std::shared_ptr<const queue::QueueTree> tree() const;
  // A Queue has changed: the sink of `store`, which fills it, calls this. Cost: queues.
  void update();

  kube::Store<queue::Queue> store;

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const queue::QueueTree> tree_ GUARDED_BY(mutex_) =
      std::make_shared<const queue::QueueTree>();
};

}  // namespace nervex::controller
