// tests/support/counted_memory.h - how much does a piece of work allocate? A test program that
// links counted_memory.cpp counts all that C++ code allocates; 0 under a sanitizer.
#pragma once

#include <cstddef>
#include <functional>

namespace nervex::testing {

// Bytes allocated by the calling thread and not freed.
std::size_t allocated_now();
// Peak memory of the calling thread during `work`, beyond what it held before.
std::size_t most_allocated_by(const std::function<void()>& work);

}  // namespace nervex::testing
