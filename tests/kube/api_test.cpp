#include <catch2/catch_test_macros.hpp>

#include "kube/api.h"
#include "tests/support/fake_api.h"

namespace nervex::kube {
namespace {

using testing::FakeApi;

TEST_CASE("api_path builds the URLs of the API conventions", "[kube][api]") {
  CHECK(api_path(kPods) == "/api/v1/pods");
  CHECK(api_path(kPods, "a") == "/api/v1/namespaces/a/pods");
  CHECK(api_path(kPods, "a", "p") == "/api/v1/namespaces/a/pods/p");
  CHECK(api_path(kPods, "a", "p", "binding") == "/api/v1/namespaces/a/pods/p/binding");
  CHECK(api_path(kNodes, "", "n") == "/api/v1/nodes/n");
  CHECK(api_path(kNervexJobs, "a", "j", "status") ==
        "/apis/nervex.sensetime.com/v1alpha1/namespaces/a/nervexjobs/j/status");
}

TEST_CASE("a name cannot leave its place in the path", "[kube][api]") {
  CHECK(api_path(kPods, "a", "../../secrets?x=#") ==
        "/api/v1/namespaces/a/pods/..%2F..%2Fsecrets%3Fx%3D%23");
  CHECK(percent_encode("A-z_0.9~ \xc3\xa4/") == "A-z_0.9~%20%C3%A4%2F");
}

TEST_CASE("the typed verbs return the object as it is stored", "[kube][api]") {
  FakeApi api;
  const auto created = create_object(api, kPods, "a", {{"metadata", {{"name", "p"}}}});
  REQUIRE(created);
  CHECK(string_at(*created, {"metadata", "uid"}) == "uid-1");
  const auto patched =
      merge_patch(api, kPods, "a", "p", {{"metadata", {{"labels", {{"x", "1"}}}}}});
  REQUIRE(patched);
  CHECK(string_at(*patched, {"metadata", "labels", "x"}) == "1");
  const auto status =
      merge_patch(api, kPods, "a", "p", {{"status", {{"phase", "Running"}}}}, "status");
  REQUIRE(status);
  CHECK(*get_object(api, kPods, "a", "p") == *status);
  CHECK(get_object(api, kPods, "a", "q").error().code == Code::kNotFound);
  CHECK(create_object(api, kPods, "a", {{"metadata", {{"name", "p"}}}}).error().code ==
        Code::kConflict);
}

TEST_CASE("a reply that is no JSON leaves open whether the write took effect", "[kube][api]") {
  FakeApi api;
  api.answer("pods", [](const Json&) -> Result<Json> { return Json("<html>proxy</html>"); });
  CHECK(create_object(api, kPods, "a", Json::object()).error().code == Code::kTransient);
}

TEST_CASE("delete_object guards with the uid and takes gone for done", "[kube][api]") {
  FakeApi api;
  api.add(kPods, "a", {{"metadata", {{"name", "p"}}}});
  CHECK(delete_object(api, kPods, "a", "p", "").error().code == Code::kInternal);
  CHECK(delete_object(api, kPods, "a", "p", "uid-7").error().code == Code::kConflict);
  CHECK(delete_object(api, kPods, "a", "p", "uid-1"));
  CHECK(delete_object(api, kPods, "a", "p", "uid-1"));
  const auto writes = api.writes("DELETE", "/pods/p");
  REQUIRE(writes.size() == 3);
  CHECK(writes[1].body == *parse_json(R"({"kind":"DeleteOptions","apiVersion":"v1",
      "preconditions":{"uid":"uid-1"},"propagationPolicy":"Background"})"));
}

}  // namespace
}  // namespace nervex::kube
