#include "webhook/recent_get.h"

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

TEST_CASE("what was found a moment ago is not asked for again", "[webhook][recent_get]") {
  CountingApi api;
  nervex::testing::FakeClock clock;
  RecentGet recent(api, clock);
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
  clock.advance(RecentGet::kAge);
  CHECK_FALSE(is_there("config"));
  CHECK(api.asked == 5);
  CHECK_FALSE(is_there("config"));
  CHECK(api.asked == 6);
}

}  // namespace nervex::webhook
