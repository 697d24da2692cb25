#include "webhook/recent_answers.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/counted_memory.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"

namespace nervex::webhook {
namespace {

// Counts what gets through to the API server.
class CountingApi final : public kube::Api {
 public:
  Result<std::string> send(const kube::ApiRequest& request) override {
    ++asked;
    return api.send(request);
  }
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override {
    return api.stream(path, on_line, std::move(stop));
  }

  nervex::testing::FakeApi api;
  int asked = 0;
};

}  // namespace

TEST_CASE("a recent answer is not requested again", "[webhook][recent_answers]") {
  CountingApi api;
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  const auto is_there = [&](std::string_view name) {
    return kube::get_object(recent, kube::kAggregatorConfigs, "ns", name).has_value();
  };
  CHECK_FALSE(is_there("config"));
  CHECK_FALSE(is_there("config"));
  CHECK(api.asked == 2);  // a user who creates it now sees the effect at once

  api.api.add(kube::kAggregatorConfigs, "ns", {{"metadata", {{"name", "config"}}}});
  CHECK(is_there("config"));
  CHECK(is_there("config"));
  CHECK(api.asked == 3);
  CHECK_FALSE(is_there("other"));
  CHECK(api.asked == 4);
  CHECK(is_there("config"));
  CHECK(api.asked == 4);

  api.api.remove(kube::kAggregatorConfigs, "ns", "config");
  clock.advance(RecentAnswers::kAge);
  CHECK_FALSE(is_there("config"));
  CHECK(api.asked == 5);
  CHECK_FALSE(is_there("config"));
  CHECK(api.asked == 6);
}

TEST_CASE("a right that was recently granted is not checked again", "[webhook][recent_answers]") {
  CountingApi api;
  bool allowed = false;
  api.api.answer("subjectaccessreviews", [&](const Json&) -> Result<Json> {
    return Json{{"status", {{"allowed", allowed}}}};
  });
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  const auto may = [&](const char* user) {
    const auto review =
        kube::create_object(recent, {"authorization.k8s.io", "v1", "subjectaccessreviews"}, "",
                            {{"spec", {{"user", user}}}});
    return review && kube::bool_at(*review, {"status", "allowed"});
  };
  CHECK_FALSE(may("alice"));
  allowed = true;
  CHECK(may("alice"));  // a new right counts at once
  CHECK(api.asked == 2);
  allowed = false;
  CHECK(may("alice"));
  CHECK(api.asked == 2);
  CHECK_FALSE(may("bob"));  // another question
  CHECK(api.asked == 3);
  clock.advance(RecentAnswers::kAge);
  CHECK_FALSE(may("alice"));
  CHECK(api.asked == 4);
}

TEST_CASE("recent answers stay within their memory limit", "[webhook][recent_answers]") {
  CountingApi api;
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  const auto name = [](int i) { return "config-" + std::to_string(i); };
  for (int i = 0; i < 40; ++i) {
    api.api.add(kube::kAggregatorConfigs, "ns",
                {{"metadata", {{"name", name(i)}}}, {"spec", std::string(500'000, 'x')}});
  }
  const std::size_t before = nervex::testing::allocated_now();
  for (int i = 0; i < 40; ++i) {
    CHECK(kube::get_object(recent, kube::kAggregatorConfigs, "ns", name(i)));
  }
  CHECK(nervex::testing::allocated_now() - before < RecentAnswers::kMaxBytes * 5 / 4);
}

TEST_CASE("writes pass through", "[webhook][recent_answers]") {
  CountingApi api;
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  for (int i = 0; i < 3; ++i) {
    (void)kube::create_object(recent, kube::kPods, "ns", {{"metadata", {{"generateName", "a-"}}}});
  }
  CHECK(api.asked == 3);
}

TEST_CASE("large questions and their answers take little memory", "[webhook][recent_answers]") {
  // As the API server does: the question again, and the answer.
  class Repeating final : public kube::Api {
   public:
    Result<std::string> send(const kube::ApiRequest& request) override {
      ++asked;
      return request.body.substr(0, request.body.size() - 1) + R"(,"status":{"allowed":true}})";
    }
    Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                           std::stop_token) override {
      return ok();
    }

    int asked = 0;
  };
  Repeating api;
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  const std::string extra(500'000, 'x');
  const auto ask = [&](int i) {
    return *recent.send({.method = "POST",
                         .path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                         .body = kube::to_text({{"spec", {{"user", i}, {"extra", extra}}}}),
                         .content_type = "application/json"});
  };
  const std::size_t before = nervex::testing::allocated_now();
  for (int i = 0; i < 40; ++i) CHECK(ask(i) == R"({"status":{"allowed":true}})");
  CHECK(nervex::testing::allocated_now() - before < 100'000);
  CHECK(api.asked == 40);
  CHECK(ask(39) == R"({"status":{"allowed":true}})");
  CHECK(api.asked == 40);
}

TEST_CASE("only a question without a recent answer takes a turn", "[webhook][recent_answers]") {
  CountingApi api;
  api.api.add(kube::kAggregatorConfigs, "ns", {{"metadata", {{"name", "config"}}}});
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  bool may = false;
  int leaves = 0;
  const auto ask = [&] {
    return recent.send({.method = "GET",
                        .path = kube::api_path(kube::kAggregatorConfigs, "ns", "config"),
                        .body = "",
                        .content_type = "",
                        .before_sending = [&]() -> Result<Nothing> {
                          ++leaves;
                          if (may) return ok();
                          return Error{Code::kTransient, "not now"};
                        }});
  };
  CHECK_FALSE(ask());
  CHECK(api.asked == 0);
  may = true;
  CHECK(ask());
  CHECK(ask());
  CHECK(leaves == 2);
}

TEST_CASE("an answer that arrives while a question waits for its turn is used",
          "[webhook][recent_answers]") {
  CountingApi api;
  api.api.add(kube::kAggregatorConfigs, "ns", {{"metadata", {{"name", "config"}}}});
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  kube::ApiRequest request{.method = "GET",
                           .path = kube::api_path(kube::kAggregatorConfigs, "ns", "config"),
                           .body = "",
                           .content_type = ""};
  const auto other = request;
  request.before_sending = [&]() -> Result<Nothing> {
    CHECK(recent.send(other));
    return Error{Code::kTransient, "no turn in time"};
  };
  CHECK(recent.send(request));
  CHECK(api.asked == 1);
}

}  // namespace nervex::webhook
