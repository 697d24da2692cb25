#include "kube/paged_list.h"

#include <functional>
#include <string>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace nervex::kube {
namespace {

using Catch::Matchers::ContainsSubstring;

// A server that names a next page for as long as a caller asks; a test of the fault ends too.
class EndlessList final : public Api {
 public:
  static constexpr int kEnds = 3 * kMostPages;

  explicit EndlessList(std::function<std::string(int page)> token, std::string items = "")
      : token_(std::move(token)), items_(std::move(items)) {}

  Result<std::string> send(const ApiRequest&) override {
    const std::string next = ++pages == kEnds ? "" : token_(pages);
    return R"({"metadata":{"resourceVersion":"9","continue":")" + next + R"("},"items":[)" +
           items_ + "]}";
  }
  Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                         std::stop_token) override {
    return Error{Code::kInternal, "not asked for"};
  }

  int pages = 0;

 private:
  const std::function<std::string(int page)> token_;
  const std::string items_;
};

Result<std::string> read(Api& api) {
  return list_in_pages(api, "/api/v1/pods", 500, [](std::string_view) { return ok(); });
}

TEST_CASE("a list whose page names itself as the next one ends with an error", "[kube][list]") {
  EndlessList api([](int) { return "again"; });
  const auto version = read(api);
  REQUIRE_FALSE(version);
  CHECK(version.error().code == Code::kInvalid);
  CHECK(api.pages == 2);
}

TEST_CASE("a list without end ends with an error, with and without objects in its pages",
          "[kube][list]") {
  for (const char* items : {"", R"({"metadata":{"name":"a"}})"}) {
    EndlessList api([](int page) { return std::to_string(page % 2); }, items);
    const auto version = read(api);
    REQUIRE_FALSE(version);
    CHECK(version.error().code == Code::kInvalid);
    CHECK_THAT(version.error().message, ContainsSubstring("has not ended after 10000 pages"));
    CHECK(api.pages == kMostPages);
  }
}

}  // namespace
}  // namespace nervex::kube
