// base/memory_budget.h - may this piece of work take so much memory now?
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace nervex {

// What pieces of work on many threads may hold at once, by their own estimates. Thread-safe.
//
// No queue: what needs little may be let in before what has waited for much. Large work must not
// keep small work from being done, and may time out.
//
// `most_of_one`: what the work of one caller may hold, so that others find some free. A piece that
// is larger may be done alone. 0: there is no such limit.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t bytes, std::size_t most_of_one = 0)
      : bytes_(bytes), most_of_one_(most_of_one) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // One piece's part, given back when this is destroyed. The budget must outlive it.
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
  // Waits for so much to be free, until `timeout` has passed. nullopt: it was not, or is more than
  // the whole budget, which is said at once.
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
  // By caller, if there is a limit of its own; none is 0.
  std::unordered_map<std::string, std::size_t> used_by_ GUARDED_BY(mutex_);
};

}  // namespace nervex
