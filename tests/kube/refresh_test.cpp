// What Reflector::refresh() promises: a cache that has everything which was stored when it was
// asked, however idle or late its watch is.
#include <atomic>
#include <memory>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "base/log.h"
#include "kube/cache/reflectors.h"
#include "kube/model/pod.h"
#include "tests/support/fake_api.h"
#include "tests/support/wait_until.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::wait_until;

Json a_pod(const std::string& name) { return {{"metadata", {{"name", name}}}}; }

struct Cache {
  explicit Cache(Api& api, std::size_t few_objects = 500, bool streaming = true)
      : reflector(api, options(few_objects, streaming),
                  sink_into<Pod>(
                      store, [](std::string_view json) { return decode_pod(json, {}); }, nullptr)) {
    reflector.start();
  }

  static ReflectorOptions options(std::size_t few_objects, bool streaming) {
    ReflectorOptions options;
    options.path = api_path(kPods);
    options.few_objects = few_objects;
    options.streaming_lists = streaming;
    options.backoff_initial = 2ms;
    options.backoff_max = 20ms;
    return options;
  }

  bool becomes_fresh() {
    return wait_until([&] { return reflector.check_fresh("pods").has_value(); });
  }

  Store<Pod> store;
  Reflector reflector;  // last: its thread ends first
};

// A reflector whose list had two pods, and whose watch has had no event since.
struct WatchingCluster {
  explicit WatchingCluster(std::size_t few_objects = 500, bool streaming = true) {
    for (const auto* name : {"a", "b"}) api.add(kPods, "ns", a_pod(name));
    cache = std::make_unique<Cache>(api, few_objects, streaming);
    watching = wait_until([&] { return cache->reflector.synced() && api.open_watches() == 1; });
  }

  FakeApi api;
  bool watching = false;
  std::unique_ptr<Cache> cache;
};

TEST_CASE("a refreshed cache contains changes that a lagging watch has not delivered",
          "[kube][refresh]") {
  const bool streaming = GENERATE(true, false);
  WatchingCluster cluster(500, streaming);
  REQUIRE(cluster.watching);
  cluster.api.pause_watches();
  cluster.api.remove(kPods, "ns", "a");
  cluster.api.add(kPods, "ns", a_pod("c"));
  CHECK(cluster.cache->reflector.check_fresh("pods"));  // no check was requested
  CHECK(cluster.cache->store.keys() == std::vector<std::string>{"ns/a", "ns/b"});
  cluster.cache->reflector.refresh();
  CHECK(cluster.cache->becomes_fresh());
  CHECK(cluster.cache->store.keys() == std::vector<std::string>{"ns/b", "ns/c"});
}

TEST_CASE("an idle kind with many objects waits for the bookmark of a short watch",
          "[kube][refresh]") {
  WatchingCluster cluster(1);
  REQUIRE(cluster.watching);
  const int before = cluster.api.requests();
  cluster.api.add(kNodes, "", a_pod("n"));  // another kind: versions are shared
  cluster.cache->reflector.refresh();
  // A read of one object, and the watch that is open now.
  CHECK(wait_until([&] { return cluster.api.requests() == before + 2; }));
  CHECK(wait_until([&] { return cluster.api.open_watches() == 1; }));
  CHECK(cluster.cache->reflector.check_fresh("pods").error().message == "pods may be out of date");
  cluster.api.bookmark();
  CHECK(cluster.cache->becomes_fresh());
  CHECK(cluster.api.requests() == before + 2);
}

TEST_CASE("a short watch that does not catch up is followed by a list", "[kube][refresh]") {
  WatchingCluster cluster(1);
  REQUIRE(cluster.watching);
  cluster.api.pause_watches();
  cluster.api.add(kPods, "ns", a_pod("c"));
  const int before = cluster.api.requests();
  cluster.cache->reflector.refresh();
  CHECK(wait_until(
      [&] { return cluster.api.requests() == before + 2 && cluster.api.open_watches() == 1; }));
  CHECK_FALSE(cluster.cache->reflector.check_fresh("pods"));
  cluster.api.end_watches();  // its timeoutSeconds
  CHECK(cluster.cache->becomes_fresh());
  CHECK(cluster.cache->store.size() == 3);
}

TEST_CASE("an up-to-date watch needs only a check of the version", "[kube][refresh]") {
  WatchingCluster cluster(1);
  REQUIRE(cluster.watching);
  const int before = cluster.api.requests();
  cluster.cache->reflector.refresh();
  CHECK(cluster.cache->becomes_fresh());
  CHECK(wait_until([&] { return cluster.api.open_watches() == 1; }));
  CHECK(cluster.api.requests() == before + 2);
}

TEST_CASE("a kind that may not be read is waited for, without a busy loop", "[kube][refresh]") {
  const std::size_t few_objects = GENERATE(1U, 500U);
  WatchingCluster cluster(few_objects);
  REQUIRE(cluster.watching);
  set_log_level(LogLevel::kError);
  cluster.api.pause_watches();
  cluster.api.add(kPods, "ns", a_pod("c"));
  // While the role is missing.
  std::atomic<bool> is_forbidden = true;
  std::atomic<int> refused = 0;
  cluster.api.fail_next([&](const ApiRequest&) { return is_forbidden && ++refused > 0; },
                        {Code::kForbidden, "403 pods is forbidden"}, testing::Applied::kNo,
                        1'000'000);
  cluster.cache->reflector.refresh();
  CHECK(wait_until([&] {
    return cluster.cache->reflector.check_fresh("pods").error().message ==
           "pods may be out of date: 403 pods is forbidden";
  }));
  CHECK(wait_until([&] { return refused >= 3; }));
  CHECK(cluster.cache->reflector.synced());
  is_forbidden = false;
  cluster.api.resume_watches();
  CHECK(cluster.cache->becomes_fresh());
  CHECK(cluster.cache->store.size() == 3);
  set_log_level(LogLevel::kInfo);
}

TEST_CASE("a question does not wait for the end of a back-off", "[kube][refresh]") {
  FakeApi api;
  api.fail_next("", "/pods", {Code::kTransient, "down"});
  ReflectorOptions options = Cache::options(500, true);
  options.backoff_initial = options.backoff_max = 3'600s;
  Store<Pod> store;
  Reflector reflector(
      api, options,
      sink_into<Pod>(
          store, [](std::string_view json) { return decode_pod(json, {}); }, nullptr));
  set_log_level(LogLevel::kError);
  reflector.start();
  CHECK(wait_until([&] { return api.requests() == 1; }));
  reflector.refresh();
  CHECK(
      wait_until([&] { return reflector.synced() && reflector.check_fresh("pods").has_value(); }));
  set_log_level(LogLevel::kInfo);
}

TEST_CASE("a list that was begun before the question does not answer it", "[kube][refresh]") {
  const bool streaming = GENERATE(true, false);
  FakeApi api;
  api.add(kPods, "ns", a_pod("a"));
  Store<Pod> store;
  auto sink = sink_into<Pod>(
      store, [](std::string_view json) { return decode_pod(json, {}); }, nullptr);
  std::unique_ptr<Reflector> reflector;
  int lists = 0;
  bool was_fresh = true;
  sink.end_list = [&, end = sink.end_list](std::string_view version) {
    if (++lists == 1) reflector->refresh();  // the list under way was begun earlier
    if (lists == 2) was_fresh = reflector->check_fresh("pods").has_value();
    end(version);
  };
  reflector = std::make_unique<Reflector>(api, Cache::options(500, streaming), std::move(sink));
  reflector->start();
  CHECK(wait_until(
      [&] { return reflector->synced() && reflector->check_fresh("pods").has_value(); }));
  CHECK(wait_until([&] { return api.open_watches() == 1; }));
  reflector.reset();
  CHECK(lists == 2);
  CHECK_FALSE(was_fresh);
}

TEST_CASE("waiting for the caches ends as soon as all are current", "[kube][refresh]") {
  FakeApi api;
  api.add(kPods, "ns", a_pod("a"));
  Store<Pod> store;
  Reflectors caches(api);
  caches.add("pods", api_path(kPods), store,
             sink_into<Pod>(
                 store, [](std::string_view json) { return decode_pod(json, {}); }, nullptr));
  bool is_current = false;
  std::jthread waiting(
      [&](const std::stop_token& stop) { is_current = caches.wait_until_current(stop); });

  SECTION("listed for the first time, and brought up to date again") {
    caches.start();
    waiting.join();
    CHECK(is_current);
    CHECK(store.size() == 1);
    caches.refresh();
    CHECK(caches.wait_until_current({}));
    CHECK(caches.check_current());
  }
  SECTION("or ends when it is stopped") {
    waiting.request_stop();
    waiting.join();
    CHECK_FALSE(is_current);
  }
}

TEST_CASE("an optional kind that is awaited counts as empty once the API server has answered",
          "[kube][refresh]") {
  FakeApi api;
  Store<Pod> store;
  Reflectors caches(api);
  caches.add_awaited(
      "pods", api_path(kPods), store,
      sink_into<Pod>(
          store, [](std::string_view json) { return decode_pod(json, {}); }, nullptr));
  CHECK_FALSE(caches.check_synced());  // not asked yet
  const auto answer = [&](Code code) {
    for (const char* method : {"GET", "WATCH"}) {
      api.fail_next(method, "/pods", {code, "no"}, testing::Applied::kNo, 1'000'000);
    }
  };
  SECTION("it exists") { api.add(kPods, "ns", a_pod("a")); }
  SECTION("it does not exist") { answer(Code::kNotFound); }
  SECTION("this program may not read it") { answer(Code::kForbidden); }
  caches.start();
  CHECK(wait_until([&] { return caches.check_synced().has_value(); }));
  caches.refresh();
  CHECK(caches.wait_until_current({}));
  caches.stop();
}

}  // namespace
}  // namespace nervex::kube
