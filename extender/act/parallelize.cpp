#include "extender/act/parallelize.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace nervex::extender {

void parallelize(std::size_t parallelism, std::size_t count,
                 const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const std::size_t threads = std::max<std::size_t>(std::min(parallelism, count), 1);
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
