#include "tests/support/counted_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t allocated = 0;
thread_local std::size_t most_allocated = 0;

}  // namespace

// A sanitizer has a separate allocator: nothing is counted there.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Of the whole test program. What one thread allocates and another frees is counted wrongly: no
// test that counts does that.
void* operator new(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  allocated += malloc_usable_size(memory);
  most_allocated = std::max(most_allocated, allocated);
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) allocated -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }
#endif

namespace nervex::testing {

std::size_t allocated_now() { return allocated; }

std::size_t most_allocated_by(const std::function<void()>& work) {
  const std::size_t before = allocated;
  most_allocated = allocated;
  work();
  return most_allocated - before;
}

}  // namespace nervex::testing
