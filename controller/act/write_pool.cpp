#include "controller/act/write_pool.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace nervex::controller {

// On its caller's stack while it waits in run(); all but count and write under the pool's mutex.
struct WritePool::Batch {
  Batch(std::size_t writes, const Write& how) : count(writes), write(how) {}

  const std::size_t count;
  const Write& write;
  std::size_t next = 0;
  std::size_t under_way = 0;
  std::size_t allowed = 1;  // under way at once: the slow start
  bool has_turn = false;    // it is in turns_
  // The failure with the lowest index.
  std::size_t failed = 0;
  std::optional<Error> error;
  CondVar over;
};

namespace {

// Libraries may throw; a thread must not.
std::optional<Error> guarded(const WritePool::Write& write, std::size_t i) {
  try {
    if (auto done = write(i); !done) return done.error();
  } catch (const std::exception& e) {
    return Error{Code::kInternal, e.what()};
  }
  return std::nullopt;
}

Error stopping() { return {Code::kTransient, "not written: the program is stopping"}; }

}  // namespace

WritePool::WritePool(std::size_t threads) : size_(threads) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stopped) { make_writes(stopped); });
  }
}

WritePool::~WritePool() { stop(); }

void WritePool::stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  turns_.clear();
  for (auto* batch : batches_) batch->over.notify_one();
  wake_.notify_all();
  for (auto& thread : threads_) thread.request_stop();
}

bool WritePool::may_begin(const Batch& batch) const {
  return !stopping_ && !batch.error && batch.next < batch.count && batch.under_way < batch.allowed;
}

void WritePool::give_turn(Batch& batch) {
  if (batch.has_turn || !may_begin(batch)) return;
  batch.has_turn = true;
  turns_.push_back(&batch);
  wake_.notify_one();
}

std::optional<Error> WritePool::run(std::size_t count, const Write& write) {
  if (size_ == 0) {
    for (std::size_t i = 0; i < count; ++i) {
      if (auto error = guarded(write, i)) return error;
    }
    return std::nullopt;
  }
  if (count == 0) return std::nullopt;
  Batch batch(count, write);
  mutex_.lock();
  batches_.push_back(&batch);
  give_turn(batch);
  while (batch.under_way > 0 || may_begin(batch)) batch.over.wait(mutex_);
  std::erase(batches_, &batch);
  std::erase(turns_, &batch);  // after a failure it may have a turn left
  mutex_.unlock();
  if (batch.error) return std::move(batch.error);
  return batch.next < count ? std::optional(stopping()) : std::nullopt;
}

void WritePool::make_writes(const std::stop_token& stopped) {
  mutex_.lock();
  while (!stopped.stop_requested()) {
    if (turns_.empty()) {
      wake_.wait(mutex_);
      continue;
    }
    Batch& batch = *turns_.front();
    turns_.pop_front();
    batch.has_turn = false;
    if (!may_begin(batch)) continue;  // a write of it has failed since it got its turn
    const std::size_t i = batch.next++;
    ++batch.under_way;
    give_turn(batch);
    mutex_.unlock();
    auto error = guarded(batch.write, i);
    mutex_.lock();
    end(batch, i, std::move(error));
  }
  mutex_.unlock();
}

void WritePool::end(Batch& batch, std::size_t i, std::optional<Error> error) {
  --batch.under_way;
  if (!error) {
    batch.allowed = std::min(batch.allowed + 1, size_);
  } else if (!batch.error || i < batch.failed) {
    batch.failed = i;
    batch.error = std::move(error);
  }
  give_turn(batch);
  // Under the mutex: its caller, and the batch, are gone when we let go of it.
  if (batch.under_way == 0 && !may_begin(batch)) batch.over.notify_one();
}

}  // namespace nervex::controller
