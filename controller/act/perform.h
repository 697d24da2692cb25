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

// Thread-safe for several jobs at once, one thread each, which waits for its writes. All writes
// except Events go through the pool. One job has only writes of one action in the pool at a time.
class Performer {
 public:
  Performer(kube::Api& api, Stores& stores, kube::EventRecorder& events, WritePool& pool);

  // Runs the actions in order. The first failure stops the rest and is returned; earlier actions
  // stay done, and the next decision continues from there. Exceptions: a pod or Service whose
  // deletion is permanently refused (is_definite), and a pod that is not released, do not stop the
  // rest; that failure is returned at the end.
  std::optional<Failure> perform(const job::Job& job, const Actions& actions);

 private:
  kube::Api& api_;
  Stores& stores_;
  kube::EventRecorder& events_;
  WritePool& pool_;
};

}  // namespace nervex::controller
