#include "cli/follow.h"

#include <catch2/catch_test_macros.hpp>

#include <mutex>
#include <thread>

#include "tests/support/fake_api.h"
#include "tests/support/wait_until.h"

namespace nervex::cli {
namespace {

using testing::Applied;
using testing::FakeApi;

// Follows all jobs of rl on a thread of its own; what it reports, as text.
struct Following {
  explicit Following(FakeApi& server) : api(server) {
    calls.on_object = [this](const std::string& key, const Json* object) {
      const std::string phase =
          object == nullptr ? "deleted" : kube::string_at(*object, {"status", "phase"});
      say(key + " " + phase);
      return true;
    };
    calls.on_listed = [this] {
      say("listed");
      return true;
    };
    calls.on_lost = [this](const Error&) { say("lost"); };
  }

  void start() {
    thread = std::jthread([this](const std::stop_token& stop) {
      const std::string path = kube::api_path(kube::kNervexJobs, "rl");
      result = follow(api, path, calls, stop);
    });
  }
  void say(const std::string& text) {
    const std::scoped_lock lock(mutex);
    said.push_back(text);
  }
  std::vector<std::string> all() {
    const std::scoped_lock lock(mutex);
    return said;
  }
  bool waits_for(const std::vector<std::string>& want) {
    return testing::wait_until([&] { return all() == want; });
  }

  FakeApi& api;
  FollowCalls calls;
  std::mutex mutex;
  std::vector<std::string> said;
  Result<Nothing> result = ok();
  std::jthread thread;
};

Json a_job(const std::string& name, const std::string& phase) {
  return {{"metadata", {{"name", name}}}, {"status", {{"phase", phase}}}};
}

TEST_CASE("what is found and every change is reported", "[cli][follow]") {
  FakeApi api;
  api.add(kube::kNervexJobs, "rl", a_job("a", "Created"));
  api.add(kube::kNervexJobs, "other", a_job("b", "Created"));
  Following following(api);
  following.start();
  REQUIRE(following.waits_for({"rl/a Created", "listed"}));
  REQUIRE(testing::wait_until([&] { return api.open_watches() == 1; }));
  api.change(kube::kNervexJobs, "rl", "a", {{"status", {{"phase", "Running"}}}});
  api.remove(kube::kNervexJobs, "rl", "a");
  CHECK(following.waits_for({"rl/a Created", "listed", "rl/a Running", "rl/a deleted"}));
}

TEST_CASE("an outage is reported once, and what changed meanwhile afterwards", "[cli][follow]") {
  FakeApi api;
  api.add(kube::kNervexJobs, "rl", a_job("a", "Created"));
  api.add(kube::kNervexJobs, "rl", a_job("b", "Created"));
  Following following(api);
  api.fail_next("WATCH", "/nervexjobs", {Code::kTransient, "connection refused"}, Applied::kNo, 2);
  following.start();
  REQUIRE(following.waits_for({"rl/a Created", "rl/b Created", "listed", "lost"}));
  SECTION("from the last position") {
    api.change(kube::kNervexJobs, "rl", "a", {{"status", {{"phase", "Running"}}}});
    CHECK(following.waits_for({"rl/a Created", "rl/b Created", "listed", "lost", "rl/a Running"}));
  }
  SECTION("after the position has expired, by a new list") {
    api.change(kube::kNervexJobs, "rl", "a", {{"status", {{"phase", "Running"}}}});
    api.remove(kube::kNervexJobs, "rl", "b");
    api.compact();
    CHECK(following.waits_for(
        {"rl/a Created", "rl/b Created", "listed", "lost", "rl/a Running", "rl/b deleted"}));
  }
}

TEST_CASE("only a failure of the first list is an error", "[cli][follow]") {
  FakeApi api;
  api.fail_next("GET", "/nervexjobs", {Code::kForbidden, "forbidden"});
  FollowCalls calls;
  calls.on_object = [](const std::string&, const Json*) { return true; };
  const auto ended = follow(api, kube::api_path(kube::kNervexJobs, "rl"), calls, {});
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::kForbidden);
}

TEST_CASE("after an earlier answer an outage during the first list is retried", "[cli][follow]") {
  FakeApi api;
  api.add(kube::kNervexJobs, "rl", a_job("a", "Created"));
  Following following(api);
  following.calls.retries_first_list = true;
  SECTION("once") {
    api.fail_next("GET", "/nervexjobs", {Code::kTransient, "503"}, Applied::kNo, 2);
    following.start();
    CHECK(following.waits_for({"lost", "rl/a Created", "listed"}));
  }
  SECTION("but not what does not pass") {
    api.fail_next("GET", "/nervexjobs", {Code::kForbidden, "403"});
    following.start();
    REQUIRE(testing::wait_until([&] { return api.requests() == 1; }));
    following.thread.join();
    CHECK_FALSE(following.result);
  }
}

TEST_CASE("a call ends it", "[cli][follow]") {
  FakeApi api;
  api.add(kube::kNervexJobs, "rl", a_job("a", "Created"));
  FollowCalls calls;
  calls.on_object = [](const std::string&, const Json*) { return true; };
  SECTION("when the list is complete") {
    calls.on_listed = [] { return false; };
  }
  SECTION("when an object is seen") {
    calls.on_object = [](const std::string&, const Json*) { return false; };
  }
  CHECK(follow(api, object_path(kube::kNervexJobs, "rl", "a"), calls, {}));
}

}  // namespace
}  // namespace nervex::cli
