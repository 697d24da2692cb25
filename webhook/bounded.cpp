#include "webhook/bounded.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "job/schema/schema_check.h"
#include "kube/model/json.h"
#include "kube/model/quick_parse.h"
#include "webhook/answer.h"

namespace nervex::webhook {
namespace {

// The document, and the one without nulls or the patch.
constexpr std::size_t kDocuments = 2;
// Texts are in both, and in what is answered: a message, or a patch in base64.
constexpr std::size_t kTexts = 6;
// A value's own 16 bytes, twice as much where an array has grown, and the empty container that it
// may point to.
constexpr std::size_t kValueBytes = 112;
// A node of the map and its key.
constexpr std::size_t kMemberBytes = 96;
// One wrong value in a report: what valijson says of it and of those around it, and what we do.
constexpr std::size_t kReportBytes = 2'500;
constexpr std::size_t kFixedBytes = 64 << 10;

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

std::size_t review_memory(std::string_view body) {
  const kube::JsonCount count = kube::count_json(body);
  const std::size_t document = count.values * kValueBytes + count.members * kMemberBytes;
  const std::size_t texts =
      body.size() <= kube::kMaxQuickJson ? std::max(kTexts, kube::kQuickJsonBytes) : kTexts;
  return kFixedBytes + kDocuments * document + texts * body.size() +
         std::min(count.values, job::kMaxReportedValues) * kReportBytes;
}

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
