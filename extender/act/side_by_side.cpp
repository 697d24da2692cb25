#include "extender/act/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace nervex::extender {
namespace {

// Of the connections to the API server (HttpClientOptions::pool_size) binds need some as well.
constexpr std::size_t kMostThreads = 8;
constexpr std::size_t kCallsPerThread = 8;  // fewer are not worth a thread

}  // namespace

void do_side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const std::size_t threads = std::clamp<std::size_t>(count / kCallsPerThread, 1, kMostThreads);
  std::vector<std::exception_ptr> errors(threads);
  const auto run = [&](std::size_t thread) {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {  // a bug: the caller's, as if there were no threads
      errors[thread] = std::current_exception();
      next = count;
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run, i);
  run(0);
  others.clear();  // joins
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace nervex::extender
