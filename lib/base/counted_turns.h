// base/counted_turns.h - may this caller start another piece of work?
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace nervex {

// Limits the concurrent pieces of work per key. Thread-safe; never waits.
class CountedTurns {
 public:
  explicit CountedTurns(std::size_t most) : most_(most) {}
  CountedTurns(const CountedTurns&) = delete;
  CountedTurns& operator=(const CountedTurns&) = delete;

  // One piece of work, which ends with this object. The counter must outlive it.
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

  // nullopt: `key` is at its limit.
  std::optional<Turn> begin(const std::string& key);

 private:
  void end(const std::string& key);

  const std::size_t most_;
  Mutex mutex_;
  std::unordered_map<std::string, std::size_t> counts_ GUARDED_BY(mutex_);  // no entry is 0
};

}  // namespace nervex
