#include "base/malloc.h"

#include <malloc.h>

#include <chrono>
#include <cstddef>

#include "base/clock.h"

namespace nervex {

void give_large_blocks_back() {
#if defined(__GLIBC__)
  constexpr int kLargeBlock = 64 << 10;
  constexpr int kKeptAtTheEnd = 1 << 20;
  constexpr int kArenas = 4;
  mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  mallopt(M_TRIM_THRESHOLD, kKeptAtTheEnd);
  mallopt(M_ARENA_MAX, kArenas);
#endif
}

void give_free_memory_back() {
#if defined(__GLIBC__)
  constexpr std::size_t kMuch = 16 << 20;
  if (mallinfo2().fordblks > kMuch) malloc_trim(0);
#endif
}

void keep_giving_memory_back(const std::stop_token& stop) {
  while (!sleep_unless_stopped(std::chrono::seconds(5), stop)) give_free_memory_back();
}

}  // namespace nervex
