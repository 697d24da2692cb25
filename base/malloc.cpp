#include "base/malloc.h"

#include <malloc.h>

#include <cstddef>

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

}  // namespace nervex
