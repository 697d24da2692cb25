#include "base/malloc.h"

#include <malloc.h>

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

}  // namespace nervex
