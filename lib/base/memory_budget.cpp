#include "base/memory_budget.h"

namespace nervex {

bool MemoryBudget::is_free(std::size_t bytes, const std::string& caller) const {
  if (used_ + bytes > bytes_) return false;
  if (most_of_one_ == 0 || used_ == 0) return true;
  const auto used = used_by_.find(caller);
  return (used == used_by_.end() ? 0 : used->second) + bytes <= most_of_one_;
}

std::optional<MemoryBudget::Share> MemoryBudget::take(std::size_t bytes,
                                                      std::chrono::milliseconds timeout,
                                                      const std::string& caller) {
  if (bytes > bytes_) return std::nullopt;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const MutexLock lock(mutex_);
  while (!is_free(bytes, caller)) {
    const bool is_over = freed_.wait_until(mutex_, deadline) == std::cv_status::timeout;
    if (is_over && !is_free(bytes, caller)) return std::nullopt;
  }
  std::string name = caller;  // code that may throw runs before the count
  if (most_of_one_ > 0) used_by_[name] += bytes;
  used_ += bytes;
  return Share(*this, bytes, std::move(name));
}

void MemoryBudget::give_back(std::size_t bytes, const std::string& caller) {
  {
    const MutexLock lock(mutex_);
    used_ -= bytes;
    const auto used = used_by_.find(caller);
    if (used != used_by_.end() && (used->second -= bytes) == 0) used_by_.erase(used);
  }
  freed_.notify_all();
}

}  // namespace nervex
