#include "controller/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace nervex::controller {
namespace {

using Write = std::function<Result<Nothing>(std::size_t)>;

// Libraries may throw; a thread must not.
std::optional<Error> guarded(const Write& write, std::size_t i) {
  try {
    if (auto done = write(i); !done) return done.error();
  } catch (const std::exception& e) {
    return Error{Code::kInternal, e.what()};
  }
  return std::nullopt;
}

std::optional<Error> run_round(std::size_t first, std::size_t size, const Write& write) {
  std::vector<std::optional<Error>> errors(size);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < size; ++i) {
      threads.emplace_back([&, i] { errors[i] = guarded(write, first + i); });
    }
    errors[0] = guarded(write, first);
  }  // joins
  const auto failed =
      std::find_if(errors.begin(), errors.end(), [](const auto& e) { return e.has_value(); });
  return failed == errors.end() ? std::nullopt : *failed;
}

}  // namespace

std::optional<Error> slow_start(std::size_t count, std::size_t limit, const Write& write) {
  std::size_t round = 1;
  for (std::size_t first = 0; first < count;) {
    const std::size_t size = std::min(round, count - first);
    if (auto error = run_round(first, size, write)) return error;
    first += size;
    round = std::min(round * 2, limit);
  }
  return std::nullopt;
}

}  // namespace nervex::controller
