#include "webhook/recent_answers.h"

#include <functional>
#include <string>

#include <fmt/format.h>
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

kube::AdmissionRequest request_by(const std::string& user) {
  kube::AdmissionRequest request;
  request.user = user;
  return request;
}

}  // namespace

TEST_CASE("a recent answer is not requested again", "[webhook][recent_answers]") {
  CountingApi api;
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  const auto exists = [&](const std::string& name) {
    const auto answer = recent.has_aggregator_config("ns", name);
    REQUIRE(answer.has_value());
    return *answer;
  };
  CHECK_FALSE(exists("config"));
  CHECK_FALSE(exists("config"));
  CHECK(api.asked == 2);  // a user who creates it now sees the effect at once

  api.api.add(kube::kAggregatorConfigs, "ns", {{"metadata", {{"name", "config"}}}});
  CHECK(exists("config"));
  CHECK(exists("config"));
  CHECK(api.asked == 3);
  CHECK_FALSE(exists("other"));
  CHECK_FALSE(*recent.has_aggregator_config("n", "sconfig"));
  CHECK(api.asked == 5);
  CHECK(exists("config"));
  CHECK(api.asked == 5);

  api.api.remove(kube::kAggregatorConfigs, "ns", "config");
  clock.advance(RecentAnswers::kAge);
  CHECK_FALSE(exists("config"));
  CHECK_FALSE(exists("config"));
  CHECK(api.asked == 7);
}

TEST_CASE("a failed question is asked again", "[webhook][recent_answers]") {
  CountingApi api;
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  api.api.add(kube::kAggregatorConfigs, "ns", {{"metadata", {{"name", "config"}}}});
  api.api.fail_next("GET", "aggregatorconfigs", {Code::kTransient, "timeout"});
  CHECK_FALSE(recent.has_aggregator_config("ns", "config"));
  CHECK(recent.has_aggregator_config("ns", "config"));
}

TEST_CASE("a priority class is kept as it was decoded", "[webhook][recent_answers]") {
  CountingApi api;
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  CHECK_FALSE(recent.find_priority("high")->has_value());
  CHECK(*recent.find_priority("") == ClassPriority());  // pods without a class
  api.api.add(kube::kPriorityClasses, "",
              {{"metadata", {{"name", "high"}}}, {"value", 7}, {"globalDefault", true}});
  CHECK(*recent.find_priority("high") == ClassPriority{"high", 7});
  CHECK(*recent.find_priority("") == ClassPriority());
  const int asked = api.asked;
  CHECK(*recent.find_priority("high") == ClassPriority{"high", 7});
  CHECK(api.asked == asked);
  clock.advance(RecentAnswers::kAge);
  CHECK(*recent.find_priority("") == ClassPriority{"high", 7});
}

TEST_CASE("a right that was recently granted is not checked again", "[webhook][recent_answers]") {
  CountingApi api;
  bool allowed = false;
  api.api.answer("subjectaccessreviews", [&](const Json&) -> Result<Json> {
    return Json{{"status", {{"allowed", allowed}}}};
  });
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  const auto may = [&](const char* user) { return *recent.may_create_pods(request_by(user), ""); };
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

TEST_CASE("a right is kept for one user with all attributes, and one namespace",
          "[webhook][recent_answers]") {
  CountingApi api;
  api.api.answer("subjectaccessreviews", [](const Json&) -> Result<Json> {
    return Json{{"status", {{"allowed", true}}}};
  });
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  kube::AdmissionRequest alice = request_by("alice");
  alice.groups = {"team"};
  const auto with = [&](const std::function<void(kube::AdmissionRequest&)>& change) {
    kube::AdmissionRequest changed = alice;
    change(changed);
    return changed;
  };
  const std::vector<std::pair<kube::AdmissionRequest, std::string>> questions{
      {alice, "rl"},
      {alice, "rl2"},
      {alice, ""},
      {with([](auto& user) { user.user = "alic"; }), "rl"},
      {with([](auto& user) { user.user_uid = "7"; }), "rl"},
      {with([](auto& user) { user.groups = {}; }), "rl"},
      {with([](auto& user) {
         user.groups = {"team", "b"};
       }),
       "rl"},
      {with([](auto& user) { user.groups = {"teamb"}; }), "rl"},
      {with([](auto& user) {
         user.user_extra = {{"scopes", {"a"}}};
       }),
       "rl"},
      {with([](auto& user) {
         user.user_extra = {{"scopes", {"a", "b"}}};
       }),
       "rl"},
      {with([](auto& user) {
         user.user_extra = {{"scopes", {"a"}}, {"more", {"b"}}};
       }),
       "rl"},
  };
  for (int round = 0; round < 2; ++round) {
    for (const auto& [user, ns] : questions) CHECK(*recent.may_create_pods(user, ns));
    CHECK(api.asked == static_cast<int>(questions.size()));
  }
}

TEST_CASE("recent answers stay within their memory limit", "[webhook][recent_answers]") {
  CountingApi api;
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  const auto name = [](int i) { return "ns-" + std::to_string(i); };
  for (int i = 0; i < 60; ++i) {
    api.api.add(
        kube::kNamespaces, "",
        {{"metadata", {{"name", name(i)}, {"labels", {{"a", std::string(100'000, 'x')}}}}}});
  }
  const std::size_t before = nervex::testing::allocated_now();
  for (int i = 0; i < 60; ++i) CHECK(*recent.find_namespace(name(i)) != nullptr);
  CHECK(nervex::testing::allocated_now() - before < RecentAnswers::kMaxBytes * 5 / 4);
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
  kube::AdmissionRequest request;
  request.user_extra = {{"scopes", {std::string(200'000, 'x')}}};
  const auto ask = [&](int i) {
    request.user = std::to_string(i);
    return *recent.may_create_pods(request, "");
  };
  const std::size_t before = nervex::testing::allocated_now();
  for (int i = 0; i < 40; ++i) CHECK(ask(i));
  CHECK(nervex::testing::allocated_now() - before < 100'000);
  CHECK(api.asked == 40);
  CHECK(ask(39));
  CHECK(api.asked == 40);
}

TEST_CASE("only a question without a recent answer takes a turn", "[webhook][recent_answers]") {
  CountingApi api;
  api.api.add(kube::kAggregatorConfigs, "ns", {{"metadata", {{"name", "config"}}}});
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  bool may = false;
  int turns = 0;
  const auto ask = [&] {
    return recent.has_aggregator_config("ns", "config",
                                        [&](const std::function<bool()>&) -> Result<Nothing> {
                                          ++turns;
                                          if (may) return ok();
                                          return Error{Code::kTransient, "not now"};
                                        });
  };
  CHECK_FALSE(ask());
  CHECK(api.asked == 0);
  may = true;
  CHECK(ask());
  CHECK(ask());
  CHECK(turns == 2);
}

TEST_CASE("an answer that arrives while a question waits for its turn is used",
          "[webhook][recent_answers]") {
  CountingApi api;
  api.api.add(kube::kAggregatorConfigs, "ns", {{"metadata", {{"name", "config"}}}});
  nervex::testing::FakeClock clock;
  RecentAnswers recent(api, clock);
  const auto answer = recent.has_aggregator_config(
      "ns", "config", [&](const std::function<bool()>& is_answered) -> Result<Nothing> {
        CHECK_FALSE(is_answered());
        CHECK(recent.has_aggregator_config("ns", "config"));
        CHECK(is_answered());
        return Error{Code::kTransient, "no turn in time"};
      });
  CHECK(answer);
  CHECK(api.asked == 1);
}

}  // namespace nervex::webhook
