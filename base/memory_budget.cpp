#include "base/memory_budget.h"

namespace nervex {

std::optional<MemoryBudget::Share> MemoryBudget::take(std::size_t bytes,
                                                      std::chrono::milliseconds timeout) {
  if (bytes > bytes_) return std::nullopt;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const MutexLock lock(mutex_);
  while (used_ + bytes > bytes_) {
    if (freed_.wait_until(mutex_, deadline) == std::cv_status::timeout && used_ + bytes > bytes_) {
      return std::nullopt;
    }
  }
  used_ += bytes;
  return Share(*this, bytes);
}

void MemoryBudget::give_back(std::size_t bytes) {
  {
    const MutexLock lock(mutex_);
    used_ -= bytes;
  }
  freed_.notify_all();
}

}  // namespace nervex
