// controller/act/write_pool.h - how are the writes of all jobs made at once, so that no job keeps
// the others waiting and what the API server refuses is not tried a thousand times?
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"

namespace nervex::controller {

// One bounded pool of threads for the batches of all callers. A free thread makes the next write of
// the batch whose turn it is: a batch of 1,000 pods and one of a single status each get a write in
// turn. Within a batch nothing waits for the slowest of a group.
//
// Each batch starts slowly: one write is under way, after each success one more, up to the size of
// the pool. After a failure none of it begins any more: what is wrong for all (a quota, a missing
// right) costs one call, and never more than were under way. Thread-safe.
class WritePool {
 public:
  // 0 threads: each batch is written by its caller, one write after the other, so that faults in
  // tests are repeatable.
  explicit WritePool(std::size_t threads);
  ~WritePool();
  WritePool(const WritePool&) = delete;
  WritePool& operator=(const WritePool&) = delete;

  using Write = std::function<Result<Nothing>(std::size_t i)>;
  // Calls write(i) for 0..count-1, begun in this order, and returns when all that were begun have
  // ended: the first error by index, or nullopt. `write` must be thread-safe, and must not call the
  // pool. A std::exception of it is a kInternal error. After stop(): kTransient.
  std::optional<Error> run(std::size_t count, const Write& write);

  // Nothing begins any more; callers are answered when what is under way has ended. Idempotent.
  void stop();

 private:
  struct Batch;

  void make_writes(const std::stop_token& stopped);
  bool may_begin(const Batch& batch) const REQUIRES(mutex_);
  void give_turn(Batch& batch) REQUIRES(mutex_);
  void end(Batch& batch, std::size_t i, std::optional<Error> error) REQUIRES(mutex_);

  const std::size_t size_;
  Mutex mutex_;
  CondVar wake_;
  std::deque<Batch*> turns_ GUARDED_BY(mutex_);     // those that may begin a write, each once
  std::vector<Batch*> batches_ GUARDED_BY(mutex_);  // all that are not over
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: they end first
};

}  // namespace nervex::controller
