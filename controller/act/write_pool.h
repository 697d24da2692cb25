// controller/act/write_pool.h - how are writes of all jobs made in parallel, fairly, and without
// repeating a refused write a thousand times?
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

// A bounded pool of threads for the batches of all callers. A free thread makes one write of the
// next batch, round robin: a batch of 1,000 pods and a batch of one status alternate. Writes of a
// batch do not wait for each other.
//
// Each batch starts slowly: one write at first, one more in parallel after each success, up to the
// size of the pool. After a failure no further write of the batch begins: a cause that affects all
// of them (a quota, a missing right) costs one call, and never more than were in progress.
// Thread-safe.
class WritePool {
 public:
  // 0 threads: each batch is written by its caller, one write at a time, so that faults in tests
  // are repeatable.
  explicit WritePool(std::size_t threads);
  ~WritePool();
  WritePool(const WritePool&) = delete;
  WritePool& operator=(const WritePool&) = delete;

  using Write = std::function<Result<Nothing>(std::size_t i)>;
  // Calls write(i) for 0..count-1, begun in this order, and returns when all that have begun have
  // ended: the first error by index, or nullopt. `write` must be thread-safe and must not call the
  // pool. A std::exception becomes a kInternal error. After stop(): kTransient.
  std::optional<Error> run(std::size_t count, const Write& write);

  // No new write begins; callers return when the writes in progress have ended. Idempotent.
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
  std::deque<Batch*> turns_ GUARDED_BY(mutex_);     // batches that may begin a write, each once
  std::vector<Batch*> batches_ GUARDED_BY(mutex_);  // all unfinished ones
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: they end first
};

}  // namespace nervex::controller
