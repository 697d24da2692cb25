#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

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

TEST_CASE("a name cannot escape its segment of the path", "[kube][api]") {
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

TEST_CASE("a JSON patch takes effect as a whole or not at all", "[kube][api]") {
  FakeApi api;
  api.add(kNervexJobs, "a", *parse_json(R"({"metadata":{"name":"j"},"spec":{"x":1}})"));
  const auto test = [](const char* path, Json value) -> Json {
    return {{"op", "test"}, {"path", path}, {"value", std::move(value)}};
  };
  const auto add = [](const char* path, Json value) -> Json {
    return {{"op", "add"}, {"path", path}, {"value", std::move(value)}};
  };
  const auto patched =
      json_patch(api, kNervexJobs, "a", "j", {test("/metadata/generation", 1), add("/spec/y", 2)});
  REQUIRE(patched);
  CHECK((*patched)["spec"] == Json{{"x", 1}, {"y", 2}});
  for (const Json& operations : {Json{add("/spec/z", 3), test("/metadata/generation", 1)},
                                 Json{add("/spec/z", 3), add("/no/such", 1)},
                                 Json{add("/spec/z", 3), test("/spec/no", 1)}}) {
    CHECK(json_patch(api, kNervexJobs, "a", "j", operations).error().code == Code::kInvalid);
  }
  CHECK(*get_object(api, kNervexJobs, "a", "j") == *patched);
  CHECK(json_patch(api, kNervexJobs, "a", "k", Json::array()).error().code == Code::kNotFound);
}

TEST_CASE("a reply that is not JSON leaves the outcome of the write unknown", "[kube][api]") {
  FakeApi api;
  api.answer("pods", [](const Json&) -> Result<Json> { return Json("<html>proxy</html>"); });
  CHECK(create_object(api, kPods, "a", Json::object()).error().code == Code::kTransient);
}

TEST_CASE("delete_object sends the uid as a precondition, and 404 is success", "[kube][api]") {
  FakeApi api;
  api.add(kPods, "a", {{"metadata", {{"name", "p"}}}});
  CHECK(delete_object(api, kPods, "a", "p", "").error().code == Code::kInternal);
  CHECK(delete_object(api, kPods, "a", "", "uid-1").error().code == Code::kInternal);
  CHECK(delete_object(api, kPods, "a", "p", "uid-7").error().code == Code::kConflict);
  const auto deleted = delete_object(api, kPods, "a", "p", "uid-1");
  REQUIRE(deleted);
  CHECK_FALSE(deleted->was_gone);
  CHECK(string_at(deleted->answer, {"metadata", "name"}) == "p");
  const auto again = delete_object(api, kPods, "a", "p", "uid-1");
  REQUIRE(again);
  CHECK(again->was_gone);
  CHECK(again->answer.is_null());
  const auto writes = api.writes("DELETE", "/pods/p");
  REQUIRE(writes.size() == 3);
  CHECK(writes[1].body == *parse_json(R"({"kind":"DeleteOptions","apiVersion":"v1",
      "preconditions":{"uid":"uid-1"},"propagationPolicy":"Background"})"));
}

TEST_CASE("delete_object can insist on the version that was decided on", "[kube][api]") {
  FakeApi api;
  api.add(kPods, "a", {{"metadata", {{"name", "p"}}}});
  api.change(kPods, "a", "p", {{"metadata", {{"labels", {{"x", "1"}}}}}});
  CHECK(delete_object(api, kPods, "a", "p", "uid-1", {.resource_version = "1"}).error().code ==
        Code::kConflict);
  CHECK(delete_object(api, kPods, "a", "p", "uid-1", {.resource_version = "2"}));
  CHECK(api.get(kPods, "a", "p").is_null());
}

TEST_CASE("delete_object sends the propagation policy", "[kube][api]") {
  struct Row {
    Propagation propagation;
    std::string word;
    bool owner_stays;  // until its dependants are deleted
    std::size_t dependants_left;
  };
  const auto row = GENERATE(values<Row>({{Propagation::kBackground, "Background", false, 0},
                                         {Propagation::kForeground, "Foreground", true, 0},
                                         {Propagation::kOrphan, "Orphan", false, 1}}));
  INFO(row.word);
  FakeApi api;
  api.add(kNervexJobs, "a", {{"metadata", {{"name", "j"}}}});
  api.add(kPods, "a", {{"metadata", {{"name", "p"}, {"ownerReferences", {{{"uid", "uid-1"}}}}}}});
  const auto deleted =
      delete_object(api, kNervexJobs, "a", "j", "uid-1", {.propagation = row.propagation});
  REQUIRE(deleted);
  CHECK(string_at(api.writes().back().body, {"propagationPolicy"}) == row.word);
  CHECK(api.get(kNervexJobs, "a", "j").is_null() != row.owner_stays);
  CHECK((find(deleted->answer, {"metadata", "deletionTimestamp"}) != nullptr) == row.owner_stays);
  api.collect_garbage();
  CHECK(api.get(kNervexJobs, "a", "j").is_null());
  CHECK(api.list(kPods).size() == row.dependants_left);
}

TEST_CASE("update_object replaces the version it read, and no other", "[kube][api]") {
  FakeApi api;
  Json job = api.add(kNervexJobs, "a", {{"metadata", {{"name", "j"}}}, {"spec", {{"x", 1}}}});
  job["spec"] = {{"y", 2}};
  const auto updated = update_object(api, kNervexJobs, "a", job);
  REQUIRE(updated);
  CHECK((*updated)["spec"] == Json{{"y", 2}});
  CHECK(update_object(api, kNervexJobs, "a", job).error().code == Code::kConflict);
  Json status = *updated;
  status["status"] = {{"phase", "Running"}};
  CHECK(update_object(api, kNervexJobs, "a", status, "status"));
  CHECK(string_at(api.get(kNervexJobs, "a", "j"), {"status", "phase"}) == "Running");
}

TEST_CASE("update_object does not overwrite blindly", "[kube][api]") {
  FakeApi api;
  Json job = api.add(kNervexJobs, "a", {{"metadata", {{"name", "j"}}}});
  job["metadata"].erase("resourceVersion");
  CHECK(update_object(api, kNervexJobs, "a", job).error().code == Code::kInternal);
  CHECK(update_object(api, kNervexJobs, "a", Json::object()).error().code == Code::kInternal);
  CHECK(api.writes().empty());
  // Nor would the server have let it.
  CHECK(api.send({"PUT", api_path(kNervexJobs, "a", "j"), to_text(job), "application/json"})
            .error()
            .code == Code::kInvalid);
}

Json a_config(const Json& spec) {
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "p"}}}, {"spec", spec}};
}

Result<Json> apply(FakeApi& api, const Json& spec, std::string_view manager,
                   Force force = Force::kNo) {
  return apply_object(api, kPods, "a", a_config(spec), manager, force);
}

TEST_CASE("apply_object creates, and then changes what it names", "[kube][api]") {
  FakeApi api;
  const auto created = apply(api, {{"x", 1}, {"list", {1, 2}}}, "me");
  REQUIRE(created);
  CHECK(string_at(*created, {"metadata", "uid"}) == "uid-1");
  api.change(kPods, "a", "p", {{"spec", {{"theirs", true}}}});
  const auto changed = apply(api, {{"x", 2}}, "me");  // and drops fields that it no longer names
  REQUIRE(changed);
  CHECK((*changed)["spec"] == Json{{"x", 2}, {"theirs", true}});
  CHECK((*apply(api, {{"x", 2}}, "me"))["metadata"] == (*changed)["metadata"]);  // nothing to do
}

TEST_CASE("apply_object does not take a field from another manager, unless forced", "[kube][api]") {
  FakeApi api;
  REQUIRE(apply(api, {{"x", 1}, {"y", 1}}, "first"));
  CHECK(apply(api, {{"x", 1}}, "second"));  // of one mind: both own it
  CHECK(apply(api, {{"x", 2}}, "second").error().code == Code::kConflict);
  CHECK(apply(api, {{"x", 2}}, "second", Force::kYes));
  CHECK(apply(api, {{"x", 1}}, "first").error().code == Code::kConflict);
  CHECK(apply(api, {{"y", 1}}, "first"));  // gives it up
  CHECK(api.get(kPods, "a", "p")["spec"] == Json{{"x", 2}, {"y", 1}});
}

TEST_CASE("apply_object encodes the field manager in the URL", "[kube][api]") {
  FakeApi api;
  std::string asked;
  api.fail_next(
      [&asked](const ApiRequest& request) {
        asked = request.method + " " + request.path + " " + request.content_type;
        return false;
      },
      {});
  REQUIRE(apply_object(api, kPods, "a", a_config({{"x", 1}}), "me & you", Force::kYes, "",
                       DryRun::kYes));
  CHECK(asked ==
        "PATCH /api/v1/namespaces/a/pods/p?fieldManager=me%20%26%20you&force=true&dryRun=All "
        "application/apply-patch+yaml");
  CHECK(api.list(kPods).empty());
}

TEST_CASE("apply_object refuses invalid objects", "[kube][api]") {
  FakeApi api;
  const Json good = a_config({{"x", 1}});
  CHECK(apply_object(api, kPods, "a", good, "").error().code == Code::kInternal);
  for (const char* key : {"apiVersion", "kind", "metadata"}) {
    Json object = good;
    object.erase(key);
    CHECK(apply_object(api, kPods, "a", object, "me").error().code == Code::kInternal);
  }
  Json object = good;
  object["metadata"]["managedFields"] = Json::array();
  CHECK(apply_object(api, kPods, "a", object, "me").error().code == Code::kInternal);
  CHECK(api.requests() == 0);
}

TEST_CASE("a dry run is answered and changes nothing", "[kube][api]") {
  FakeApi api;
  const Json pod = {{"metadata", {{"name", "p"}}}};
  CHECK(create_object(api, kPods, "a", pod, DryRun::kYes));
  CHECK(api.list(kPods).empty());
  const Json stored = api.add(kPods, "a", pod);
  Json labelled = stored;
  labelled["metadata"]["labels"] = {{"x", "1"}};
  const auto patched = merge_patch(api, kPods, "a", "p", {{"metadata", {{"labels", {{"x", "1"}}}}}},
                                   "", DryRun::kYes);
  CHECK(*patched == labelled);
  CHECK(*update_object(api, kPods, "a", labelled, "", DryRun::kYes) == labelled);
  CHECK(delete_object(api, kPods, "a", "p", "uid-1", {.dry_run = DryRun::kYes}));
  CHECK(api.get(kPods, "a", "p") == stored);
}

}  // namespace
}  // namespace nervex::kube
