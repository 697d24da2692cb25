#include "webhook/live_check.h"

#include <atomic>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"
#include "tests/support/wait_until.h"
#include "tests/webhook/samples.h"

namespace nervex::webhook {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::FakeClock;
using testing::wait_until;

constexpr const char* kIndex = "/openapi/v3";
constexpr const char* kDocument = "/openapi/v3/api/v1";
const Error kAway{Code::kTransient, "connection refused"};

std::string index_with(const std::string& hash) {
  return R"({"paths":{"api":{"serverRelativeURL":"/openapi/v3/api?hash=1"},)"
         R"("api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=)" +
         hash + R"("}}})";
}

// Takes requests and does not answer them while it hangs.
class HangingApi final : public kube::Api {
 public:
  explicit HangingApi(kube::Api& api) : api_(api) {}
  Result<std::string> send(const kube::ApiRequest& request) override {
    ++waiting;
    wait_until([this] { return !hangs; });
    --waiting;
    return api_.send(request);
  }
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override {
    return api_.stream(path, on_line, std::move(stop));
  }

  std::atomic<bool> hangs = false;
  std::atomic<int> waiting = 0;

 private:
  kube::Api& api_;
};

// The thread that loads, once it has loaded.
class Loader {
 public:
  explicit Loader(LiveCheck& check)
      : thread_([&check](const std::stop_token& stop) { check.keep_loaded(stop); }) {
    REQUIRE(wait_until([&check] { return check.check_ready().has_value(); }));
  }

 private:
  std::jthread thread_;
};

void serve(FakeApi& api, const std::string& hash) {
  api.serve(kIndex, index_with(hash));
  api.serve(kDocument, std::string(schemas::pod_template()));
}

}  // namespace

TEST_CASE("the check is ready once the cluster's OpenAPI is loaded", "[webhook][live]") {
  FakeApi api;
  FakeClock clock;
  LiveCheck check(api, clock);
  CHECK(check.check_ready().error().message == "the cluster's OpenAPI is not loaded yet");
  CHECK(check.current() == nullptr);

  api.fail_next("GET", kDocument, kAway);
  serve(api, "A");
  CHECK_FALSE(check.load());
  CHECK_FALSE(check.check_ready());

  CHECK(check.load());
  CHECK(check.check_ready());
  CHECK(check.current()->find_errors(a_job()).empty());
}

TEST_CASE("an unchanged document is not fetched again", "[webhook][live]") {
  FakeApi api;
  FakeClock clock;
  serve(api, "A");
  LiveCheck check(api, clock);
  REQUIRE(check.load());
  const auto first = check.current();
  const int before = api.requests();
  CHECK(check.load());
  CHECK(api.requests() == before + 1);  // the index alone
  CHECK(check.current() == first);

  serve(api, "B");
  CHECK(check.load());
  CHECK(api.requests() == before + 3);
  CHECK(check.current() != first);
}

TEST_CASE("without an index the document is fetched each time", "[webhook][live]") {
  FakeApi api;
  FakeClock clock;
  api.serve(kDocument, std::string(schemas::pod_template()));
  const auto index = GENERATE(
      values<std::string>({"", "<html>", "[]", R"({"paths":{}})", R"({"paths":{"api/v1":{}}})"}));
  INFO(index);
  if (!index.empty()) api.serve(kIndex, index);
  LiveCheck check(api, clock);
  REQUIRE(check.load());
  const auto first = check.current();
  CHECK(check.load());
  CHECK(check.current() != first);
}

TEST_CASE("a loaded schema stays until a later load succeeds", "[webhook][live]") {
  FakeApi api;
  FakeClock clock;
  serve(api, "A");
  LiveCheck check(api, clock);
  REQUIRE(check.load());
  const auto first = check.current();

  serve(api, "B");
  api.fail_next("GET", kDocument, kAway);
  CHECK_FALSE(check.load());
  CHECK(check.current() == first);
  api.serve(kDocument, "<html>");
  CHECK_FALSE(check.load());
  CHECK(check.current() == first);
  CHECK(check.check_ready());

  serve(api, "B");
  CHECK(check.load());  // the failed ones were not taken for loaded
  CHECK(check.current() != first);
}

TEST_CASE("an unknown field causes a new check of the index, at a limited rate",
          "[webhook][live]") {
  FakeApi api;
  FakeClock clock;
  serve(api, "A");
  LiveCheck check(api, clock);
  const Loader loader(check);
  const auto first = check.current();
  const int before = api.requests();
  serve(api, "B");  // the cluster is upgraded

  CHECK(check.newer_than(*first, 60s) == first);  // another caller looked a moment ago
  CHECK(api.requests() == before);
  clock.advance(kLookAgainAfter);
  const auto second = check.newer_than(*first, 60s);
  CHECK(second != first);
  const int loaded = api.requests();
  CHECK(check.newer_than(*first, 60s) == second);  // who has the old one gets the new one at once
  clock.advance(kLookAgainAfter);
  CHECK(check.newer_than(*second, 60s) == second);
  CHECK(api.requests() == loaded + 1);  // the index alone
  CHECK(check.newer_than(*second, 60s) == second);
  CHECK(api.requests() == loaded + 1);

  clock.advance(kLookAgainAfter);
  api.fail_next("GET", kIndex, kAway);
  api.fail_next("GET", kDocument, kAway);
  CHECK(check.newer_than(*second, 60s) == second);
}

TEST_CASE("a review does not wait for a hanging API server, the next one has its answer",
          "[webhook][live]") {
  FakeApi fake;
  HangingApi api(fake);
  FakeClock clock;
  serve(fake, "A");
  LiveCheck check(api, clock);
  const Loader loader(check);
  const auto first = check.current();
  serve(fake, "B");
  api.hangs = true;
  clock.advance(kLookAgainAfter);
  CHECK(check.newer_than(*first, 0ms) == first);
  REQUIRE(wait_until([&] { return api.waiting == 1; }));
  CHECK(check.newer_than(*first, 0ms) == first);   // while it is being loaded
  CHECK(check.newer_than(*first, -1ms) == first);  // the review is late already
  CHECK(api.waiting == 1);
  api.hangs = false;
  CHECK(check.newer_than(*first, 60s) != first);
}

TEST_CASE("loading is retried until the API server answers, and ends at once when stopped",
          "[webhook][live]") {
  FakeApi api;
  FakeClock clock;
  serve(api, "A");
  api.fail_next("GET", kDocument, kAway);
  LiveCheck check(api, clock);
  std::jthread loader([&check](const std::stop_token& stop) { check.keep_loaded(stop); });
  CHECK(wait_until([&check] { return check.check_ready().has_value(); }));
}  // joins although the next look is minutes away

}  // namespace nervex::webhook
