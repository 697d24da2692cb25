// The fake is what other tests stand on: these rows say in what it is like the real one.
#include <atomic>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/meta.h"
#include "kube/model/watch.h"
#include "tests/support/fake_api.h"
#include "tests/support/wait_until.h"

namespace nervex::kube {
namespace {

using testing::Applied;
using testing::FakeApi;
using testing::wait_until;

Json named(const std::string& name, Json more = Json::object()) {
  more["metadata"]["name"] = name;
  return more;
}

std::string object_version(const Json& object) {
  return string_at(object, {"metadata", "resourceVersion"});
}

// The events of a watch on `path`, from another thread.
class Listener {
 public:
  Listener(FakeApi& api, const std::string& path)
      : thread_([this, &api, path](const std::stop_token& stop) {
          const auto ended = api.stream(
              path,
              [this](std::string_view line) {
                std::unique_lock lock(mutex_);
                const Json event = *parse_json(line);
                lines_.push_back(string_at(event, {"type"}) + " " +
                                 string_at(event, {"object", "metadata", "name"}));
                return true;
              },
              stop);
          ended_ = true;
          (void)ended;
        }) {}

  std::vector<std::string> lines() const {
    std::unique_lock lock(mutex_);
    return lines_;
  }
  bool has(std::size_t count) const {
    return wait_until([&] { return lines().size() >= count; });
  }
  bool ended() const {
    return wait_until([&] { return ended_.load(); });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::atomic<bool> ended_ = false;
  std::jthread thread_;
};

using Lines = std::vector<std::string>;

TEST_CASE("create sets uid and versions, and drops status", "[kube][fake_api]") {
  FakeApi api;
  const auto job = create_object(api, kNervexJobs, "a",
                                 named("j", {{"spec", {{"x", 1}}}, {"status", {{"phase", "x"}}}}));
  REQUIRE(job);
  CHECK(*job == *parse_json(R"({"spec":{"x":1},"metadata":{"name":"j","namespace":"a","uid":"uid-1",
      "resourceVersion":"1","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"}})"));
  CHECK(string_at(*create_object(api, kPods, "a", named("p")), {"status", "phase"}) == "Pending");
  CHECK_FALSE(create_object(api, kPods, "a", {{"metadata", {{"name", "q"}, {"namespace", "b"}}}}));
  CHECK_FALSE(create_object(api, kPods, "a", Json::object()));
}

TEST_CASE("generation counts changes of the spec only", "[kube][fake_api]") {
  FakeApi api;
  api.add(kNervexJobs, "a", named("j", {{"spec", {{"x", 1}}}}));
  const auto labelled =
      merge_patch(api, kNervexJobs, "a", "j", {{"metadata", {{"labels", {{"l", "1"}}}}}});
  CHECK(int_at(*labelled, {"metadata", "generation"}) == 1);
  const auto changed = merge_patch(api, kNervexJobs, "a", "j", {{"spec", {{"x", 2}}}});
  CHECK(int_at(*changed, {"metadata", "generation"}) == 2);
  const auto same = merge_patch(api, kNervexJobs, "a", "j", {{"spec", {{"x", 2}}}});
  CHECK(object_version(*same) == object_version(*changed));
}

TEST_CASE("status and spec are written by different endpoints", "[kube][fake_api]") {
  FakeApi api;
  api.add(kNervexJobs, "a", named("j", {{"spec", {{"x", 1}}}}));
  const Json both = {{"spec", {{"x", 2}}}, {"status", {{"phase", "Running"}}}};
  const auto main = merge_patch(api, kNervexJobs, "a", "j", both);
  CHECK(int_at(*main, {"spec", "x"}) == 2);
  CHECK(find(*main, {"status"}) == nullptr);
  const auto status = merge_patch(api, kNervexJobs, "a", "j",
                                  {{"spec", {{"x", 3}}}, {"status", {{"phase", "R"}}}}, "status");
  CHECK(int_at(*status, {"spec", "x"}) == 2);
  CHECK(string_at(*status, {"status", "phase"}) == "R");
  CHECK(int_at(*status, {"metadata", "generation"}) == 2);
}

TEST_CASE("an update that names another version or object is a conflict", "[kube][fake_api]") {
  FakeApi api;
  api.add(kNervexJobs, "a", named("j"));
  const auto patch = [&](const char* key, const char* value) {
    return merge_patch(api, kNervexJobs, "a", "j",
                       {{"metadata", {{key, value}}}, {"spec", {{"x", 2}}}});
  };
  CHECK(patch("resourceVersion", "9").error().code == Code::kConflict);
  CHECK(patch("uid", "other").error().code == Code::kConflict);
  CHECK(patch("resourceVersion", "1"));
  CHECK(patch("uid", "uid-1"));
}

TEST_CASE("a pod is bound once", "[kube][fake_api]") {
  FakeApi api;
  api.add(kPods, "a", named("p"));
  const auto bind = [&](const Json& metadata) {
    const Json binding = {{"metadata", metadata}, {"target", {{"kind", "Node"}, {"name", "n1"}}}};
    return api.send(
        {"POST", api_path(kPods, "a", "p", "binding"), to_text(binding), "application/json"});
  };
  CHECK(bind({{"name", "p"}, {"uid", "other"}}).error().code == Code::kConflict);
  CHECK(bind({{"name", "p"}, {"uid", "uid-1"}, {"annotations", {{"slot", "0"}}}}));
  const Json pod = api.get(kPods, "a", "p");
  CHECK(string_at(pod, {"spec", "nodeName"}) == "n1");
  CHECK(string_at(pod, {"metadata", "annotations", "slot"}) == "0");
  CHECK(bind({{"name", "p"}}).error().code == Code::kConflict);
}

TEST_CASE("slow termination leaves a bound pod until the test removes it", "[kube][fake_api]") {
  FakeApi api;
  api.terminate_pods_slowly();
  api.add(kPods, "a", named("bound", {{"spec", {{"nodeName", "n"}}}}));
  api.add(kPods, "a", named("free"));
  CHECK(delete_object(api, kPods, "a", "bound", "uid-1"));
  CHECK(delete_object(api, kPods, "a", "free", "uid-2"));
  CHECK(find(api.get(kPods, "a", "bound"), {"metadata", "deletionTimestamp"}) != nullptr);
  CHECK(api.get(kPods, "a", "free").is_null());
  CHECK(api.remove(kPods, "a", "bound"));
}

TEST_CASE("an object with a finalizer is deleted when the finalizer is removed",
          "[kube][fake_api]") {
  FakeApi api;
  api.add(kNervexJobs, "a", {{"metadata", {{"name", "j"}, {"finalizers", {"x"}}}}});
  CHECK(delete_object(api, kNervexJobs, "a", "j", "uid-1"));
  CHECK_FALSE(api.get(kNervexJobs, "a", "j").is_null());
  CHECK(merge_patch(api, kNervexJobs, "a", "j", {{"metadata", {{"finalizers", nullptr}}}}));
  CHECK(api.get(kNervexJobs, "a", "j").is_null());
}

TEST_CASE("a finalizer holds a terminating pod, and its grace does", "[kube][fake_api]") {
  FakeApi api;
  api.terminate_pods_slowly();
  Json pod = named("p");
  pod["metadata"]["finalizers"] = {"example.com/hold"};
  pod["spec"]["nodeName"] = "n1";
  pod["status"]["phase"] = "Running";
  api.add(kPods, "a", pod);
  const auto release = [&] {
    return merge_patch(api, kPods, "a", "p", {{"metadata", {{"finalizers", nullptr}}}});
  };
  const bool ends_first = GENERATE(true, false);
  CHECK(api.send({"DELETE", api_path(kPods, "a", "p"), "", ""}));
  if (ends_first) {
    CHECK(api.end_termination("a", "p"));
    CHECK(string_at(api.get(kPods, "a", "p"), {"status", "phase"}) == "Failed");
    CHECK(release());
  } else {
    CHECK(release());
    CHECK_FALSE(api.get(kPods, "a", "p").is_null());  // its containers still run
    CHECK(api.end_termination("a", "p"));
  }
  CHECK(api.get(kPods, "a", "p").is_null());
  CHECK_FALSE(api.end_termination("a", "p"));
}

TEST_CASE("garbage collection follows owners to the end", "[kube][fake_api]") {
  FakeApi api;
  const auto owned_by = [](const std::string& name, const std::string& uid) {
    return Json{
        {"metadata",
         {{"name", name}, {"ownerReferences", {encode_controller_ref({"v1", "X", "x", uid})}}}}};
  };
  api.add(kNervexJobs, "a", named("j"));
  api.add(kPodGroups, "a", owned_by("g", "uid-1"));
  api.add(kPods, "a", owned_by("p", "uid-2"));
  api.add(kPods, "a", named("free"));
  CHECK(api.collect_garbage() == 0);
  api.remove(kNervexJobs, "a", "j");
  CHECK(api.collect_garbage() == 2);
  CHECK(api.list(kPods).size() == 1);
}

TEST_CASE("lists select and come in pages", "[kube][fake_api]") {
  FakeApi api;
  for (const auto* name : {"a", "b", "c"}) {
    Json pod = named(name, {{"spec", {{"nodeName", name == std::string("c") ? "n2" : "n1"}}}});
    pod["metadata"]["labels"]["name"] = name;
    api.add(kPods, "ns", pod);
  }
  const auto names = [&](const std::string& query) {
    const Json list = *parse_json(*api.send({"GET", api_path(kPods) + "?" + query, "", ""}));
    std::string all;
    for (const auto& item : list["items"]) all += string_at(item, {"metadata", "name"});
    return all + "|" + string_at(list, {"metadata", "continue"});
  };
  CHECK(names("labelSelector=name=a") == "a|");
  CHECK(names("labelSelector=name%21%3Da,name") == "bc|");
  CHECK(names("labelSelector=%21name") == "|");
  CHECK(names("fieldSelector=spec.nodeName%3Dn1") == "ab|");
  CHECK(names("limit=2") == "ab|3|ns/b");
  CHECK(names("limit=2&continue=3%7Cns%2Fb") == "c|");
  api.compact();
  CHECK(api.send({"GET", api_path(kPods) + "?continue=3%7Cns%2Fb", "", ""}).error().code ==
        Code::kExpired);
}

TEST_CASE("a watch tells what happened since its version", "[kube][fake_api]") {
  FakeApi api;
  api.add(kPods, "a", named("old"));
  const std::string from = std::to_string(api.resource_version());
  api.add(kPods, "a", named("p"));
  api.add(kNodes, "", named("n"));  // another kind
  Listener watch(api, api_path(kPods) + "?watch=true&resourceVersion=" + from);
  CHECK(watch.has(1));
  api.change(kPods, "a", "p", {{"spec", {{"nodeName", "n"}}}});
  api.remove(kPods, "a", "p");
  CHECK(watch.has(3));
  CHECK(watch.lines() == Lines{"ADDED p", "MODIFIED p", "DELETED p"});
  CHECK(api.open_watches() == 1);
  api.end_watches();
  CHECK(watch.ended());
}

TEST_CASE("the events of a watch can be read by version", "[kube][fake_api]") {
  FakeApi api;
  api.add(kPods, "a", named("p"));
  api.add(kServices, "a", named("s"));
  api.add(kPods, "a", named("q"));
  api.remove(kPods, "a", "p");
  const std::string path = api_path(kPods);
  CHECK(api.told(path, 0, 2).size() == 1);
  CHECK(api.told(path, 0, 4).size() == 3);
  REQUIRE(api.told(path, 3, 4).size() == 1);
  CHECK(split_watch_line(api.told(path, 3, 4)[0])->type == WatchType::kDeleted);
}

TEST_CASE("a watch with a selector sees objects come and go", "[kube][fake_api]") {
  FakeApi api;
  api.add(kPods, "a", named("p"));
  Listener watch(api, api_path(kPods, "a") + "?watch=true&labelSelector=x=1");
  CHECK(wait_until([&] { return api.open_watches() == 1; }));
  for (const Json& value : {Json("1"), Json("1"), Json(nullptr)}) {
    api.change(kPods, "a", "p", {{"metadata", {{"labels", {{"x", value}}}}}});
  }
  api.change(kPods, "a", "p", {{"metadata", {{"labels", {{"x", "1"}}}}}});
  CHECK(watch.has(3));
  CHECK(watch.lines() == Lines{"ADDED p", "DELETED p", "ADDED p"});
}

TEST_CASE("a paused watch falls behind and catches up", "[kube][fake_api]") {
  FakeApi api;
  Listener watch(api, api_path(kPods) + "?watch=true&allowWatchBookmarks=true");
  CHECK(wait_until([&] { return api.open_watches() == 1; }));
  api.pause_watches();
  api.add(kPods, "a", named("p"));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(watch.lines().empty());
  api.resume_watches();
  api.bookmark();
  CHECK(watch.has(2));
  CHECK(watch.lines() == Lines{"ADDED p", "BOOKMARK "});
}

TEST_CASE("after a compaction a watch must begin with a list", "[kube][fake_api]") {
  FakeApi api;
  api.add(kPods, "a", named("p"));
  api.compact();
  Listener watch(api, api_path(kPods) + "?watch=true&resourceVersion=1");
  CHECK(watch.ended());
  CHECK(watch.lines() == Lines{"ERROR "});
  api.compact(true);
  const auto refused = api.stream(api_path(kPods) + "?watch=true&resourceVersion=1",
                                  [](std::string_view) { return true; }, {});
  CHECK(refused.error().code == Code::kExpired);
}

TEST_CASE("faults hit the next matching requests, with or without effect", "[kube][fake_api]") {
  FakeApi api;
  const Error lost{Code::kTransient, "timeout"};
  api.fail_next("POST", "/pods", lost, Applied::kYes);
  api.fail_next("POST", "/pods", {Code::kForbidden, "quota"}, Applied::kNo, 2);
  CHECK(create_object(api, kServices, "a", named("s")));  // does not match
  CHECK(create_object(api, kPods, "a", named("p")).error() == lost);
  CHECK_FALSE(api.get(kPods, "a", "p").is_null());
  CHECK(create_object(api, kPods, "a", named("q")).error().code == Code::kForbidden);
  CHECK(create_object(api, kPods, "a", named("q")).error().code == Code::kForbidden);
  CHECK(create_object(api, kPods, "a", named("q")));
  const auto writes = api.writes("POST", "/pods");
  REQUIRE(writes.size() == 4);
  CHECK(writes[0].applied);
  CHECK(writes[0].error == Code::kTransient);
  CHECK_FALSE(writes[1].applied);
  CHECK(writes[3].applied);
  CHECK_FALSE(writes[3].error);
  api.clear_writes();
  CHECK(api.writes().empty());
}

TEST_CASE("a dry run changes nothing", "[kube][fake_api]") {
  FakeApi api;
  CHECK(api.send({"POST", api_path(kPods, "a") + "?dryRun=All", to_text(named("p")), ""}));
  CHECK(api.list(kPods).empty());
}

TEST_CASE("other endpoints answer as configured", "[kube][fake_api]") {
  FakeApi api;
  api.serve("/openapi/v3/api/v1", "{}");
  CHECK(*api.send({"GET", "/openapi/v3/api/v1", "", ""}) == "{}");
  api.answer("subjectaccessreviews", [](const Json& body) -> Result<Json> {
    return Json{{"status", {{"allowed", body["spec"]["user"] == "ada"}}}};
  });
  const std::string path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const auto reply = api.send({"POST", path, R"({"spec":{"user":"ada"}})", "application/json"});
  CHECK(bool_at(*parse_json(*reply), {"status", "allowed"}));
}

TEST_CASE("a review of one's own access is answered by a rule", "[kube][fake_api]") {
  FakeApi api;
  const auto may = [&api](const std::string& resource) {
    const Json review = {{"spec", {{"resourceAttributes", {{"resource", resource}}}}}};
    const auto reply = api.send({"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                                 to_text(review), "application/json"});
    return bool_at(*parse_json(*reply), {"status", "allowed"});
  };
  CHECK(may("pods"));
  api.review_access([](const Json& attributes) { return attributes["resource"] == "services"; });
  CHECK_FALSE(may("pods"));
  CHECK(may("services"));
}

}  // namespace
}  // namespace nervex::kube
