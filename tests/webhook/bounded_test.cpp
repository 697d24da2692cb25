#include "webhook/bounded.h"

#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/wait_until.h"
#include "webhook/review_memory.h"

namespace nervex::webhook {
namespace {

using namespace std::chrono_literals;

HttpRequest request_with(std::string body) {
  return {.method = "POST",
          .path = "/",
          .query = {},
          .headers = {},
          .body = std::move(body),
          .peer = ""};
}

const std::string kSmall = "{}";
const std::string kLarge = "[" + std::string(30'000, ',') + "]";

// A review that goes on until it is told to end.
struct Slow {
  std::atomic<int> begun = 0;
  std::atomic<bool> may_end = false;
  HttpReply operator()() {
    ++begun;
    testing::wait_until([this] { return may_end.load(); });
    return {200, "done"};
  }
};

}  // namespace

TEST_CASE("reviews share a budget of memory", "[webhook][bounded]") {
  MemoryBudget budget(review_memory(kLarge) + review_memory(kSmall));
  Slow slow;
  const auto review = bounded(budget, 0ms, [&](const HttpRequest&) { return slow(); });
  std::jthread first([&] { CHECK(review(request_with(kLarge)).status == 200); });
  REQUIRE(testing::wait_until([&] { return slow.begun == 1; }));

  const HttpReply refused = review(request_with(kLarge));
  CHECK(refused.status == 503);
  CHECK(refused.headers.at("Retry-After") == "1");  // or the API server does not ask again
  CHECK(refused.body == "nervex-webhook refused the request: too many large reviews at once\n");
  CHECK(slow.begun == 1);

  // What is small finds its place beside it.
  std::jthread second([&] { CHECK(review(request_with(kSmall)).status == 200); });
  CHECK(testing::wait_until([&] { return slow.begun == 2; }));
  slow.may_end = true;
  first.join();
  second.join();
  CHECK(review(request_with(kLarge)).status == 200);
}

TEST_CASE("a review waits for the memory that it needs", "[webhook][bounded]") {
  MemoryBudget budget(review_memory(kLarge));
  Slow slow;
  const auto review = bounded(budget, 60s, [&](const HttpRequest&) { return slow(); });
  std::atomic<int> answered = 0;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 5; ++i) {
    callers.emplace_back([&] {
      if (review(request_with(kLarge)).status == 200) ++answered;
    });
  }
  REQUIRE(testing::wait_until([&] { return slow.begun == 1; }));
  slow.may_end = true;
  callers.clear();
  CHECK(answered == 5);
}

TEST_CASE("a review that no budget allows is refused at once", "[webhook][bounded]") {
  MemoryBudget budget(review_memory(kLarge) - 1);
  const auto review = bounded(budget, 60s, [](const HttpRequest&) { return HttpReply{}; });
  const HttpReply refused = review(request_with(kLarge));
  CHECK(refused.status == 413);
  CHECK(refused.body == "nervex-webhook refused the request: the review holds too many values\n");
}

}  // namespace nervex::webhook
