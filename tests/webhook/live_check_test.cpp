#include "webhook/live_check.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/webhook/samples.h"

namespace nervex::webhook {
namespace {

// Answers with what the test set, and notes what it was asked.
class OneAnswerApi final : public kube::Api {
 public:
  Result<std::string> send(const kube::ApiRequest& request) override {
    asked = request.method + " " + request.path;
    return answer;
  }
  Result<Nothing> stream(const std::string& /*path*/,
                         const std::function<bool(std::string_view line)>& /*on_line*/,
                         std::stop_token /*stop*/) override {
    return Error{Code::kInternal, "nobody watches here"};
  }

  Result<std::string> answer = Error{Code::kTransient, "connection refused"};
  std::string asked;
};

}  // namespace

TEST_CASE("the check is ready once the cluster's OpenAPI is loaded", "[webhook][live]") {
  OneAnswerApi api;
  LiveCheck check(api);
  CHECK(check.not_ready() == "the cluster's OpenAPI is not loaded yet");
  CHECK(check.current() == nullptr);

  CHECK_FALSE(check.load());
  CHECK(api.asked == "GET /openapi/v3/api/v1");
  CHECK_FALSE(check.not_ready().empty());

  api.answer = core_open_api();
  CHECK(check.load());
  CHECK(check.not_ready().empty());
  CHECK(check.current()->errors_of(a_job()).empty());

  SECTION("and stays if a later load fails") {
    api.answer = std::string("<html>");
    CHECK_FALSE(check.load());
    CHECK(check.current() != nullptr);
  }
}

}  // namespace nervex::webhook
