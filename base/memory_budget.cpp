#include "base/memory_budget.h"

#include <algorithm>

#include <malloc.h>

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
  peak_ = std::max(peak_, used_);
  return Share(*this, bytes);
}

std::size_t MemoryBudget::take_peak() {
  const MutexLock lock(mutex_);
  return std::exchange(peak_, used_);
}

void MemoryBudget::give_back(std::size_t bytes) {
  {
    const MutexLock lock(mutex_);
    used_ -= bytes;
  }
  freed_.notify_all();
}

void bound_malloc() {
  constexpr int kMaxArenas = 2;  // as many as threads that get CPU time, mostly
  constexpr int kMapAbove = 256 << 10;
  constexpr int kKeepAtTop = 16 << 20;
  mallopt(M_ARENA_MAX, kMaxArenas);
  // Both set, or glibc raises them by what it sees being freed.
  mallopt(M_MMAP_THRESHOLD, kMapAbove);
  mallopt(M_TRIM_THRESHOLD, kKeepAtTop);
}

void return_free_memory() { malloc_trim(0); }

}  // namespace nervex
