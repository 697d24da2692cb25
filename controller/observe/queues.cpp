#include "controller/observe/queues.h"

#include <utility>

namespace nervex::controller {

std::shared_ptr<const queue::QueueTree> CachedQueues::tree() const {
  const MutexLock lock(mutex_);
  return tree_;
}

void CachedQueues::update() {
  auto made = std::make_shared<const queue::QueueTree>(store.all());
  const MutexLock lock(mutex_);
  tree_ = std::move(made);
}

}  // namespace nervex::controller
