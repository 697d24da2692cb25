#include "webhook/recent_answers.h"

#include <catch2/catch_test_macros.hpp>

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

TEST_CASE("what was found a moment ago is not asked for again", "[webhook][recent_answers]") {
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

TEST_CASE("a right that was there a moment ago is not asked for again",
          "[webhook][recent_answers]") {
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
  CHECK(may("alice"));  // a right that comes counts at once
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

TEST_CASE("no more answers are kept than there is memory for", "[webhook][recent_answers]") {
  CountingApi api;
  api.api.answer("subjectaccessreviews", [](const Json&) -> Result<Json> {
    return Json{{"status", {{"allowed", true}}}};
  });
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  const auto ask = [&](std::size_t user) {
    (void)kube::create_object(recent, {"authorization.k8s.io", "v1", "subjectaccessreviews"}, "",
                              {{"spec", {{"user", std::to_string(user)}}}});
  };
  for (std::size_t user = 0; user < 2 * RecentAnswers::kMost; ++user) ask(user);
  api.asked = 0;
  for (std::size_t user = 0; user < 2 * RecentAnswers::kMost; ++user) ask(user);
  CHECK(api.asked >= static_cast<int>(RecentAnswers::kMost));
}

TEST_CASE("what is written is written", "[webhook][recent_answers]") {
  CountingApi api;
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  for (int i = 0; i < 3; ++i) {
    (void)kube::create_object(recent, kube::kPods, "ns", {{"metadata", {{"generateName", "a-"}}}});
  }
  CHECK(api.asked == 3);
}

}  // namespace nervex::webhook
