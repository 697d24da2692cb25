// extender/act/parallelize.h - how are many small writes sent with bounded concurrency?
#pragma once

#include <cstddef>
#include <functional>

namespace nervex::extender {

// Writes in flight at a time in a program. Of the connections to the API server
// (HttpClientOptions::pool_size) binds need some as well.
inline constexpr std::size_t kParallelism = 8;

// Calls work(0) ... work(count - 1) once each, on this thread and at most parallelism - 1 others,
// and returns when all have ended. With parallelism 1 the calls are in order. If a call throws,
// calls that have not begun are skipped and the exception is rethrown.
void parallelize(std::size_t parallelism, std::size_t count,
                 const std::function<void(std::size_t)>& work);

}  // namespace nervex::extender
