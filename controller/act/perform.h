// controller/act/perform.h - how are the actions of a decision carried out?
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "controller/act/write_pool.h"
#include "controller/decide/actions.h"
#include "controller/decide/failed_write.h"
#include "controller/observe/stores.h"
#include "kube/api.h"
#include "kube/events.h"

namespace nervex::controller {

// Thread-safe: several jobs at once, each by one thread, which waits for its writes. All writes but
// Events go through the pool, which is never asked for two at once by one job but for those of one
// action.
class Performer {
 public:
  Performer(kube::Api& api, Stores& stores, kube::EventRecorder& events, WritePool& pool);

  // In order. The first failure stops the rest and is returned; what was done before it stays done,
  // and the next decision goes on from there. But nothing waits for a pod or Service whose deletion
  // is refused for good (is_definite), or for a pod that is not released: the rest is done, and
  // then that failure is returned.
  std::optional<Failure> perform(const job::Job& job, const Actions& actions);

 private:
  kube::Api& api_;
  Stores& stores_;
  kube::EventRecorder& events_;
  WritePool& pool_;
};

}  // namespace nervex::controller
