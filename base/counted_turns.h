// base/counted_turns.h - does this caller already have as much under way as one caller may?
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace nervex {

// At most so many pieces of work at a time for each key. Thread-safe; waits for nothing.
class CountedTurns {
 public:
  explicit CountedTurns(std::size_t most) : most_(most) {}
  CountedTurns(const CountedTurns&) = delete;
  CountedTurns& operator=(const CountedTurns&) = delete;

  // One piece of work, until this is destroyed. The counter must outlive it.
  class Turn {
   public:
    ~Turn() {
      if (turns_ != nullptr) turns_->end(key_);
    }
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), key_(std::move(other.key_)) {}
    Turn& operator=(Turn&&) = delete;

   private:
    friend class CountedTurns;
    Turn(CountedTurns& turns, std::string key) : turns_(&turns), key_(std::move(key)) {}
    CountedTurns* turns_;
    std::string key_;
  };

  // nullopt: `key` has as many as it may.
  std::optional<Turn> begin(const std::string& key);

 private:
  void end(const std::string& key);

  const std::size_t most_;
  Mutex mutex_;
  std::unordered_map<std::string, std::size_t> counts_ GUARDED_BY(mutex_);  // none is 0
};

}  // namespace nervex
