// base/memory_budget.h - may this piece of work take so much memory now?
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/mutex.h"

namespace nervex {

// What pieces of work on many threads may hold at once, by their own estimates. Thread-safe.
//
// No queue: what needs little may be let in before what has waited for much. Large work must not
// keep small work from being done, and may time out.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t bytes) : bytes_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // One piece's part, given back when this is destroyed. The budget must outlive it.
  class Share {
   public:
    ~Share() {
      if (budget_ != nullptr) budget_->give_back(bytes_);
    }
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
    Share& operator=(Share&&) = delete;

   private:
    friend class MemoryBudget;
    Share(MemoryBudget& budget, std::size_t bytes) : budget_(&budget), bytes_(bytes) {}
    MemoryBudget* budget_;
    const std::size_t bytes_;
  };

  std::size_t bytes() const { return bytes_; }
  // Waits for so much to be free, until `timeout` has passed. nullopt: it was not, or is more than
  // the whole budget, which is said at once.
  std::optional<Share> take(std::size_t bytes, std::chrono::milliseconds timeout);

 private:
  void give_back(std::size_t bytes);

  const std::size_t bytes_;
  Mutex mutex_;
  CondVar freed_;
  std::size_t used_ GUARDED_BY(mutex_) = 0;
};

}  // namespace nervex
