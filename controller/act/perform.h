// controller/act/perform.h - how are the actions of a decision carried out?
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "controller/decide/reconcile.h"
#include "controller/observe/stores.h"
#include "kube/api.h"
#include "kube/events.h"

namespace nervex::controller {

struct Failure {
  Error error;
  std::string_view event_reason;  // kFailedCreate, kFailedDelete, or "" for other writes
  // Of a pod or service whose creation failed for good (is_definite), one of those of the action.
  std::string failed_name{};
  bool is_taken = false;  // that name is held by an object of somebody else
  bool is_of_shared_service = false;
};

// Thread-safe: several jobs at once, each by one thread.
class Performer {
 public:
  // At most `parallel_writes` requests are under way for one job.
  Performer(kube::Api& api, Stores& stores, kube::EventRecorder& events,
            std::size_t parallel_writes = 16);

  // In order. The first failure stops the rest (but for that of ReleasePods, on which nothing
  // depends) and is returned; what was done before it stays done,
  // and the next decision goes on from there.
  std::optional<Failure> perform(const job::Job& job, const Actions& actions);

 private:
  kube::Api& api_;
  Stores& stores_;
  kube::EventRecorder& events_;
  const std::size_t parallel_writes_;
};

// -- how are many writes made at once without a flood of failures?

// Calls `write(i)` for 0..count-1 in rounds of 1, 2, 4 ... calls, at most `limit` of them at a
// time, and begins no further round after one with a failure: what is wrong for all (a quota, a
// missing right) costs one call. The first error by index, or nullopt. `write` must be thread-safe
// if `limit` is above 1; threads live within a round.
std::optional<Error> slow_start(std::size_t count, std::size_t limit,
                                const std::function<Result<Nothing>(std::size_t)>& write);

}  // namespace nervex::controller
