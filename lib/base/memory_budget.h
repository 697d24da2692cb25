// base/memory_budget.h - may this piece of work use that much memory now?
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace nervex {

// Limits the memory of concurrent pieces of work, by their own estimates. Thread-safe.
//
// There is no queue: small work may start before large work that has waited longer. So large work
// never blocks small work, but may time out. `most_of_one`: the limit of one caller, so that others
// find free memory. A larger piece may run alone. 0: no such limit.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t bytes, std::size_t most_of_one = 0)
      : bytes_(bytes), most_of_one_(most_of_one) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // One piece's share, given back at destruction. The budget must outlive it.
  class Share {
   public:
    ~Share() {
      if (budget_ != nullptr) budget_->give_back(bytes_, caller_);
    }
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          bytes_(other.bytes_),
          caller_(std::move(other.caller_)) {}
    Share& operator=(Share&&) = delete;

   private:
    friend class MemoryBudget;
    Share(MemoryBudget& budget, std::size_t bytes, std::string caller)
        : budget_(&budget), bytes_(bytes), caller_(std::move(caller)) {}
    MemoryBudget* budget_;
    const std::size_t bytes_;
    std::string caller_;
  };

  std::size_t bytes() const { return bytes_; }
  // Waits for free memory until `timeout` has passed. nullopt: timeout, or at once if the piece
  // exceeds the whole budget.
  std::optional<Share> take(std::size_t bytes, std::chrono::milliseconds timeout,
                            const std::string& caller = "");

 private:
  bool is_free(std::size_t bytes, const std::string& caller) const REQUIRES(mutex_);
  void give_back(std::size_t bytes, const std::string& caller);

  const std::size_t bytes_;
  const std::size_t most_of_one_;
  Mutex mutex_;
  CondVar freed_;
  std::size_t used_ GUARDED_BY(mutex_) = 0;
  // By caller, if callers have a limit; no entry is 0.
  std::unordered_map<std::string, std::size_t> used_by_ GUARDED_BY(mutex_);
};

}  // namespace nervex
