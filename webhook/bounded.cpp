#include "webhook/bounded.h"

#include <atomic>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "webhook/answer.h"
#include "webhook/review_memory.h"

namespace nervex::webhook {
namespace {

// By the estimate; a right job of 250 kB is at 35 MiB. Smaller ones wait for keep_memory_small().
constexpr std::size_t kLarge = 40 << 20;
constexpr std::size_t kLittle = 16 << 20;
constexpr std::chrono::seconds kGiveBackEvery{5};

HttpReply overloaded() {
  HttpReply reply = refusal(503, "too many large reviews at once");
  reply.headers.emplace("Retry-After", "1");
  return reply;
}

// Large reviews that are under way, over all threads: the last one gives back what all have left.
class LargeReview {
 public:
  explicit LargeReview(std::atomic<int>& under_way) : under_way_(under_way) { ++under_way_; }
  ~LargeReview() {
    if (--under_way_ == 0) return_free_memory();
  }
  LargeReview(const LargeReview&) = delete;
  LargeReview& operator=(const LargeReview&) = delete;

 private:
  std::atomic<int>& under_way_;
};

}  // namespace

HttpHandler bounded(MemoryBudget& budget, std::chrono::milliseconds timeout, HttpHandler review) {
  return [&budget, timeout, review = std::move(review),
          under_way = std::make_shared<std::atomic<int>>(0)](const HttpRequest& request) {
    const std::size_t bytes = review_memory(request.body);
    if (bytes > budget.bytes()) return refusal(413, "the review holds too many values");
    const auto share = budget.take(bytes, timeout);
    if (!share) return overloaded();
    if (bytes < kLarge) return review(request);
    const LargeReview large(*under_way);
    return review(request);
  };
}

void keep_memory_small(MemoryBudget& budget, const std::stop_token& stop) {
  while (!sleep_unless_stopped(kGiveBackEvery, stop)) {
    if (budget.take_peak() > kLittle) return_free_memory();
  }
}

}  // namespace nervex::webhook
