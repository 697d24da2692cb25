#include "extender/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace nervex::extender {
namespace {

// Of the connections to the API server (HttpClientOptions::pool_size) binds need some as well.
constexpr std::size_t kMostThreads = 8;
constexpr std::size_t kCallsPerThread = 4;  // fewer are not worth a thread

}  // namespace

void do_side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  const std::size_t threads = std::min(kMostThreads, count / kCallsPerThread);
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run);
  run();
}

}  // namespace nervex::extender
