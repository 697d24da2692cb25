#include "base/counted_turns.h"

namespace nervex {

std::optional<CountedTurns::Turn> CountedTurns::begin(const std::string& key) {
  std::string name = key;  // code that may throw runs before the count
  const MutexLock lock(mutex_);
  const auto count = counts_.try_emplace(key, 0).first;
  if (count->second >= most_) return std::nullopt;
  ++count->second;
  return Turn(*this, std::move(name));
}

void CountedTurns::end(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto count = counts_.find(key);
  if (--count->second == 0) counts_.erase(count);
}

}  // namespace nervex
