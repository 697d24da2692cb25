#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/access_review.h"
#include "tests/support/fake_api.h"

namespace nervex::kube {
namespace {

using testing::Applied;
using testing::FakeApi;

const Json kPod = {{"metadata", {{"name", "p"}}}};

Error forbidden() { return {Code::kForbidden, "403 pods \"p\" is forbidden"}; }

void allow(FakeApi& api, bool allowed) {
  api.answer("selfsubjectaccessreviews", [allowed](const Json& review) -> Result<Json> {
    Json answer = review;
    answer["status"] = {{"allowed", allowed}};
    return answer;
  });
}

TEST_CASE("a 403 is transient without the right, and final with it", "[kube][access_review]") {
  struct Row {
    std::string when;
    bool allowed;
    int times;  // that the write is refused
    std::optional<Code> want;
    std::size_t creates;
  };
  const auto row = GENERATE(values<Row>({
      {"the right is missing", false, 9, Code::kUnauthorized, 1},
      {"the right is there and the write is refused again", true, 9, Code::kForbidden, 2},
      {"the right came between the write and the review", true, 1, std::nullopt, 2},
  }));
  INFO("when " << row.when);
  FakeApi inner;
  allow(inner, row.allowed);
  inner.fail_next("POST", "/pods", forbidden(), Applied::kNo, row.times);
  AccessReviewApi api(inner);
  const auto created = create_object(api, kPods, "a", kPod);
  CHECK((created ? std::nullopt : std::optional(created.error().code)) == row.want);
  CHECK(inner.writes("POST", "/pods").size() == row.creates);
  if (!created) CHECK(created.error().message == forbidden().message);
}

TEST_CASE("a 403 is transient if the access review fails", "[kube][access_review]") {
  FakeApi inner;
  inner.fail_next("POST", "", forbidden(), Applied::kNo, 2);  // the review is refused as well
  AccessReviewApi api(inner);
  CHECK(create_object(api, kPods, "a", kPod).error().code == Code::kUnauthorized);
}

TEST_CASE("a forbidden read is transient, and needs no access review", "[kube][access_review]") {
  FakeApi inner;
  allow(inner, true);
  inner.fail_next("GET", "/pods", forbidden());
  AccessReviewApi api(inner);
  CHECK(get_object(api, kPods, "a", "p").error().code == Code::kUnauthorized);
  CHECK(inner.requests() == 1);
}

TEST_CASE("other answers are passed on as they are", "[kube][access_review]") {
  const auto code =
      GENERATE(Code::kInvalid, Code::kConflict, Code::kTransient, Code::kUnauthorized);
  FakeApi inner;
  inner.fail_next("POST", "/pods", {code, "no"});
  AccessReviewApi api(inner);
  CHECK(create_object(api, kPods, "a", kPod).error() == Error{code, "no"});
  CHECK(inner.requests() == 1);
}

TEST_CASE("the review asks for exactly the right that the write needs", "[kube][access_review]") {
  struct Row {
    std::string method;
    std::string path;
    Json want;
  };
  const auto row = GENERATE(values<Row>({
      {"POST",
       api_path(kPods, "a"),
       {{"verb", "create"},
        {"group", ""},
        {"version", "v1"},
        {"namespace", "a"},
        {"resource", "pods"}}},
      {"PATCH",
       api_path(kNervexJobs, "a", "j", "status") + "?dryRun=All",
       {{"verb", "patch"},
        {"group", "nervex.sensetime.com"},
        {"version", "v1alpha1"},
        {"namespace", "a"},
        {"resource", "nervexjobs"},
        {"name", "j"},
        {"subresource", "status"}}},
      {"DELETE",
       api_path(kNodes, "", "n"),
       {{"verb", "delete"},
        {"group", ""},
        {"version", "v1"},
        {"resource", "nodes"},
        {"name", "n"}}},
      {"PUT",
       "/api/v1/namespaces/a",
       {{"verb", "update"},
        {"group", ""},
        {"version", "v1"},
        {"resource", "namespaces"},
        {"name", "a"}}},
  }));
  INFO(row.method << " " << row.path);
  CHECK(resource_attributes(row.method, row.path) == std::optional(row.want));
  CHECK(resource_attributes("GET", row.path) == std::nullopt);
  CHECK(resource_attributes(row.method, "/healthz") == std::nullopt);
}

}  // namespace
}  // namespace nervex::kube
