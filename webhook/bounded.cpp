#include "webhook/bounded.h"

#include <utility>

#include "webhook/answer.h"
#include "webhook/review_memory.h"

namespace nervex::webhook {
namespace {

HttpReply overloaded() {
  HttpReply reply = refusal(503, "too many large reviews at once");
  reply.headers.emplace("Retry-After", "1");
  return reply;
}

}  // namespace

HttpHandler bounded(MemoryBudget& budget, std::chrono::milliseconds timeout, HttpHandler review) {
  return [&budget, timeout, review = std::move(review)](const HttpRequest& request) {
    const std::size_t bytes = review_memory(request.body);
    if (bytes > budget.bytes()) return refusal(413, "the review contains too many values");
    const auto share = budget.take(bytes, timeout, request.peer);
    if (!share) return overloaded();
    return review(request);
  };
}

}  // namespace nervex::webhook
