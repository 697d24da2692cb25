#include <mutex>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/log.h"
#include "kube/cache/reflector.h"
#include "kube/client.h"
#include "kube/model/pod.h"
#include "tests/support/fake_api.h"
#include "tests/support/scripted_server.h"
#include "tests/support/wait_until.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using testing::FakeApi;
using testing::ScriptedServer;
using testing::stream_reply;
using testing::wait_until;
using testing::whole_reply;

ReflectorOptions quick(const std::string& path = api_path(kPods), bool streaming = true) {
  ReflectorOptions options;
  options.path = path;
  options.page_size = 2;
  options.streaming_lists = streaming;
  options.backoff_initial = 2ms;
  options.backoff_max = 20ms;
  return options;
}

Json a_pod(const std::string& name, const std::string& node = "") {
  Json pod = {{"metadata", {{"name", name}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  return pod;
}

// A store of pods that is kept equal to an API, and the changes on the way.
struct Mirror {
  explicit Mirror(Api& api, ReflectorOptions options = quick())
      : reflector(api, std::move(options),
                  sink_into<Pod>(
                      store, [](std::string_view json) { return decode(json); },
                      [this](const auto& before, const auto& after) { record(before, after); })) {
    reflector.start();
  }

  // Pods on the node "elsewhere" do not concern us; "broken" ones cannot be read.
  static Result<Pod> decode(std::string_view json) {
    auto pod = decode_pod(json, {});
    if (pod && pod->node == "elsewhere") return Error{Code::kNotFound, "not ours"};
    if (pod && pod->node == "broken") return Error{Code::kInvalid, "broken"};
    return pod;
  }

  void record(const Store<Pod>::Ptr& before, const Store<Pod>::Ptr& after) {
    std::unique_lock lock(mutex);
    changes.push_back((before ? before->meta.name + "@" + before->node : "-") + ">" +
                      (after ? after->meta.name + "@" + after->node : "-"));
  }

  std::vector<std::string> all_told() {
    std::unique_lock lock(mutex);
    return changes;
  }
  bool is_told(const std::vector<std::string>& want) {
    return wait_until([&] { return all_told() == want; }, 5s);
  }
  bool has_keys(const std::vector<std::string>& want) {
    return wait_until([&] { return reflector.synced() && store.keys() == want; }, 5s);
  }

  Store<Pod> store;
  std::mutex mutex;
  std::vector<std::string> changes;
  Reflector reflector;  // last: its thread ends first
};

using Keys = std::vector<std::string>;

TEST_CASE("the first list, streamed or page by page, is complete when synced",
          "[kube][reflector]") {
  const bool streaming = GENERATE(true, false);
  FakeApi api;
  for (const auto* name : {"a", "b", "c", "d", "e"}) api.add(kPods, "ns", a_pod(name));
  Mirror mirror(api, quick(api_path(kPods), streaming));
  CHECK(wait_until([&] { return mirror.reflector.synced(); }));
  CHECK(mirror.store.keys() == Keys{"ns/a", "ns/b", "ns/c", "ns/d", "ns/e"});
  CHECK(mirror.is_told({"->a@", "->b@", "->c@", "->d@", "->e@"}));
}

TEST_CASE("a list with more objects than any server has ends with an error, and is tried again",
          "[kube][reflector]") {
  const bool streaming = GENERATE(true, false);
  FakeApi api;
  for (const auto* name : {"a", "b", "c", "d", "e"}) api.add(kPods, "ns", a_pod(name));
  ReflectorOptions options = quick(api_path(kPods), streaming);
  options.most_objects = 4;
  Mirror mirror(api, options);
  CHECK(wait_until([&] { return api.requests() > 8; }));
  REQUIRE_FALSE(mirror.reflector.synced());
  CHECK_THAT(mirror.reflector.check_synced("pods").error().message,
             ContainsSubstring("has not ended after 4 objects"));
  api.remove(kPods, "ns", "e");
  CHECK(mirror.has_keys({"ns/a", "ns/b", "ns/c", "ns/d"}));
}

TEST_CASE("changes arrive by watch, each reported once", "[kube][reflector]") {
  FakeApi api;
  api.add(kPods, "ns", a_pod("a"));
  Mirror mirror(api);
  CHECK(mirror.has_keys({"ns/a"}));
  api.change(kPods, "ns", "a", {{"spec", {{"nodeName", "n1"}}}});
  api.add(kPods, "ns", a_pod("b"));
  api.remove(kPods, "ns", "a");
  CHECK(mirror.is_told({"->a@", "a@>a@n1", "->b@", "a@n1>-"}));
  CHECK(mirror.store.keys() == Keys{"ns/b"});
}

TEST_CASE("a streaming list goes on as the watch: one request", "[kube][reflector]") {
  FakeApi api;
  api.add(kPods, "ns", a_pod("a"));
  Mirror mirror(api);
  CHECK(wait_until([&] { return api.open_watches() == 1; }));
  api.add(kPods, "ns", a_pod("b"));
  CHECK(mirror.has_keys({"ns/a", "ns/b"}));
  CHECK(api.requests() == 1);
}

TEST_CASE("a server that refuses streaming lists is asked for pages, and never again to stream",
          "[kube][reflector]") {
  FakeApi api;
  api.refuse_streaming_lists();
  for (const auto* name : {"a", "b", "c"}) api.add(kPods, "ns", a_pod(name));
  Mirror mirror(api);
  CHECK(wait_until([&] { return api.open_watches() == 1; }));
  CHECK(mirror.has_keys({"ns/a", "ns/b", "ns/c"}));
  CHECK(api.requests() == 1 + 2 + 1);  // refused, two pages, a watch
  api.add(kPods, "ns", a_pod("d"));
  CHECK(mirror.has_keys({"ns/a", "ns/b", "ns/c", "ns/d"}));
  api.compact();
  api.end_watches();
  CHECK(wait_until([&] { return api.open_watches() == 1 && api.requests() == 4 + 1 + 2 + 1; }));
}

TEST_CASE("pages that expire on the way are followed by a fresh list, at once",
          "[kube][reflector]") {
  FakeApi api;
  for (const auto* name : {"a", "b", "c"}) api.add(kPods, "ns", a_pod(name));
  api.fail_next("GET", "continue=", {Code::kExpired, "410 the continue token is too old"});
  ReflectorOptions options = quick(api_path(kPods), false);
  options.backoff_initial = 60s;  // the test would not wait for it
  Mirror mirror(api, options);
  CHECK(mirror.has_keys({"ns/a", "ns/b", "ns/c"}));
  CHECK(wait_until([&] { return api.requests() == 2 + 2 + 1; }));
  CHECK(mirror.is_told({"->a@", "->b@", "->c@"}));
}

TEST_CASE("a watch that ends goes on where it was, without a list", "[kube][reflector]") {
  const bool streaming = GENERATE(true, false);
  FakeApi api;
  Mirror mirror(api, quick(api_path(kPods), streaming));
  CHECK(wait_until([&] { return api.open_watches() == 1; }));
  for (int i = 0; i < 3; ++i) {
    api.pause_watches();
    api.end_watches();
    api.add(kPods, "ns", a_pod("p" + std::to_string(i)));
    api.resume_watches();
    CHECK(wait_until([&] { return mirror.store.size() == static_cast<std::size_t>(i) + 1; }));
    CHECK(wait_until([&] { return api.open_watches() == 1; }));
  }
  CHECK(mirror.all_told().size() == 3);
  CHECK(api.requests() == (streaming ? 4 : 5));  // one list, and a watch each time
}

TEST_CASE("an expired position, in either form, leads to a new list that misses nothing",
          "[kube][reflector]") {
  const bool as_status = GENERATE(false, true);
  const bool streaming = GENERATE(false, true);
  FakeApi api;
  api.add(kPods, "ns", a_pod("gone"));
  api.add(kPods, "ns", a_pod("kept"));
  Mirror mirror(api, quick(api_path(kPods), streaming));
  CHECK(wait_until([&] { return api.open_watches() == 1; }));
  api.pause_watches();
  api.remove(kPods, "ns", "gone");
  api.add(kPods, "ns", a_pod("new"));
  api.compact(as_status);
  api.end_watches();
  api.resume_watches();
  CHECK(mirror.has_keys({"ns/kept", "ns/new"}));
  CHECK(mirror.is_told({"->gone@", "->kept@", "->new@", "gone@>-"}));
}

TEST_CASE("lists and watches that fail are tried again with back-off", "[kube][reflector]") {
  const auto code = GENERATE(Code::kTransient, Code::kForbidden, Code::kNotFound, Code::kExpired);
  FakeApi api;
  const bool streaming = GENERATE(false, true);
  api.add(kPods, "ns", a_pod("a"));
  api.fail_next("GET", "/pods", {code, "not now"}, testing::Applied::kNo, 3);
  api.fail_next("WATCH", "/pods", {code, "not now"}, testing::Applied::kNo, 3);
  Mirror mirror(api, quick(api_path(kPods), streaming));
  CHECK(wait_until([&] { return api.open_watches() == 1; }));
  CHECK(mirror.has_keys({"ns/a"}));
  CHECK(mirror.all_told().size() == 1);
}

TEST_CASE("a kind that may be missing is listed as empty, asked for again, and found when it comes",
          "[kube][reflector]") {
  const bool streaming = GENERATE(false, true);
  FakeApi api;
  api.add(kPods, "ns", a_pod("a"));
  api.fail_next("", "/pods", {Code::kNotFound, "no such kind"}, testing::Applied::kNo, 5);
  auto options = quick(api_path(kPods), streaming);
  options.retry_missing = 2ms;
  std::mutex mutex;
  std::vector<bool> told;
  options.on_missing = [&](bool is_missing) {
    const std::unique_lock lock(mutex);
    told.push_back(is_missing);
  };
  const auto is_told = [&](const std::vector<bool>& want) {
    return wait_until([&] {
      const std::unique_lock lock(mutex);
      return told == want;
    });
  };
  Mirror mirror(api, options);
  CHECK(is_told({true, false}));
  CHECK(mirror.has_keys({"ns/a"}));
  SECTION("and is empty again when it goes while it is watched") {
    CHECK(wait_until([&] { return api.open_watches() == 1; }));
    api.fail_next("", "/pods", {Code::kNotFound, "no such kind"}, testing::Applied::kNo, 1'000'000);
    api.end_watches();
    CHECK(is_told({true, false, true}));
    CHECK(mirror.has_keys({}));
    CHECK(mirror.reflector.check_fresh("pods"));
  }
}

TEST_CASE("an incomplete first list is reported with the last failure", "[kube][reflector]") {
  FakeApi api;
  api.fail_next("", "/pods", {Code::kForbidden, "403 pods is forbidden"}, testing::Applied::kNo,
                1'000'000);
  Mirror mirror(api, quick(api_path(kPods), true));
  CHECK(wait_until([&] {
    return mirror.reflector.check_synced("pods").error().message ==
           "pods are not listed yet: 403 pods is forbidden";
  }));
}

TEST_CASE("no kind of failure causes a busy loop", "[kube][reflector]") {
  const auto code = GENERATE(Code::kTransient, Code::kForbidden, Code::kExpired, Code::kInvalid,
                             Code::kNotFound, Code::kConflict);
  const auto* const method = GENERATE("WATCH", "GET", "");
  const bool streaming = GENERATE(false, true);
  FakeApi api;
  api.fail_next(method, "", {code, "no"}, testing::Applied::kNo, 1'000'000);
  ReflectorOptions options = quick(api_path(kPods), streaming);
  options.backoff_initial = 20ms;
  options.backoff_max = 1'000ms;
  set_log_level(LogLevel::kError);
  Mirror mirror(api, options);
  std::this_thread::sleep_for(100ms);
  set_log_level(LogLevel::kInfo);
  INFO(method << ' ' << to_string(code));
  CHECK(api.requests() < 16);  // 20, 40, 80 ... ms apart, lists and watches
}

TEST_CASE("objects that the decoder filters out count as absent", "[kube][reflector]") {
  FakeApi api;
  api.add(kPods, "ns", a_pod("a", "elsewhere"));
  api.add(kPods, "ns", a_pod("b"));
  Mirror mirror(api);
  CHECK(mirror.has_keys({"ns/b"}));
  api.change(kPods, "ns", "b", {{"spec", {{"nodeName", "elsewhere"}}}});
  CHECK(mirror.has_keys({}));
  CHECK(mirror.is_told({"->b@", "b@>-"}));
}

TEST_CASE("an object that cannot be read is skipped, the rest goes on", "[kube][reflector]") {
  FakeApi api;
  api.add(kPods, "ns", a_pod("a", "broken"));
  api.add(kPods, "ns", a_pod("b"));
  Mirror mirror(api);
  CHECK(mirror.has_keys({"ns/b"}));
  api.change(kPods, "ns", "b", {{"spec", {{"nodeName", "broken"}}}});
  api.add(kPods, "ns", a_pod("c"));
  CHECK(mirror.has_keys({"ns/b", "ns/c"}));  // of b the last readable state
}

TEST_CASE("unreadable objects are reported, and when they become readable", "[kube][reflector]") {
  Store<Pod> store;
  std::vector<std::string> told;
  const ReflectorSink sink = sink_into<Pod>(
      store,
      [](std::string_view) {
        return Result<Pod>(Error{Code::kInvalid, "odd"});
      },
      nullptr, [&](const std::string& key) { told.push_back(key); });
  const auto text = [](const char* name) {
    return R"({"metadata": {"namespace": "ns", "resourceVersion": "5", "name": ")" +
           std::string(name) + R"(", "uid": "uid-)" + name + R"("}})";
  };
  CHECK_FALSE(sink.upsert(text("a")));
  CHECK_FALSE(sink.upsert(text("b")));
  CHECK(told == std::vector<std::string>{"ns/a", "ns/b"});
  CHECK(store.unreadable("ns/a")->uid == "uid-a");
  told.clear();
  SECTION("it was deleted") { sink.remove(text("a")); }
  SECTION("a list does not have it") {
    sink.begin_list();
    CHECK_FALSE(sink.upsert(text("b")));
    told.clear();
    sink.end_list("9");
  }
  CHECK(told == std::vector<std::string>{"ns/a"});
  CHECK(store.unreadable_keys() == std::vector<std::string>{"ns/b"});
}

TEST_CASE("selectors in the path are kept for list and watch", "[kube][reflector]") {
  FakeApi api;
  Json ours = a_pod("ours");
  ours["metadata"]["labels"]["x"] = "1";
  api.add(kPods, "ns", ours);
  api.add(kPods, "ns", a_pod("other"));
  Mirror mirror(api, quick(api_path(kPods) + "?labelSelector=x=1"));
  CHECK(mirror.has_keys({"ns/ours"}));
  CHECK(wait_until([&] { return api.open_watches() == 1; }));
  api.add(kPods, "ns", a_pod("another"));
  api.change(kPods, "ns", "ours", {{"metadata", {{"labels", nullptr}}}});
  CHECK(mirror.has_keys({}));
}

TEST_CASE("own writes folded in ahead of the watch are reported by the next difference",
          "[kube][reflector]") {
  FakeApi api;
  api.add(kPods, "ns", a_pod("a"));
  Mirror mirror(api);
  CHECK(wait_until([&] { return api.open_watches() == 1; }));
  CHECK(mirror.has_keys({"ns/a"}));
  api.pause_watches();
  const Json changed = api.change(kPods, "ns", "a", {{"spec", {{"nodeName", "n1"}}}});
  CHECK(mirror.store.update("ns/a", *decode_pod(to_text(changed), {})));
  CHECK(mirror.store.get("ns/a")->node == "n1");
  api.resume_watches();
  api.change(kPods, "ns", "a", {{"spec", {{"nodeName", "n2"}}}});
  CHECK(mirror.is_told({"->a@", "a@n1>a@n2"}));
}

TEST_CASE("a reflector stops within a second, wherever it waits", "[kube][reflector]") {
  FakeApi api;
  const auto where = GENERATE(std::string("watch"), std::string("back-off"));
  if (where == "back-off") {
    api.fail_next("", "", {Code::kTransient, "down"}, testing::Applied::kNo, 1'000'000);
  }
  ReflectorOptions options = quick();
  options.backoff_initial = 30s;
  auto mirror = std::make_unique<Mirror>(api, options);
  std::this_thread::sleep_for(50ms);
  const auto started = std::chrono::steady_clock::now();
  mirror.reset();
  CHECK(std::chrono::steady_clock::now() - started < 1s);
}

// ---- over HTTP

std::string make_pod_list(const std::string& version, const std::string& items) {
  return R"({"kind":"PodList","metadata":{"resourceVersion":")" + version + R"("},"items":[)" +
         items + "]}";
}

std::string pod_text(const std::string& name, const std::string& version) {
  return R"({"metadata":{"namespace":"ns","name":")" + name + R"(","resourceVersion":")" + version +
         "\"}}";
}

std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}";
}

TEST_CASE("over HTTP: cut streams, broken lines and both forms of 410 heal", "[kube][reflector]") {
  constexpr const char* kExpired =
      R"({"kind":"Status","message":"too old","reason":"Expired","code":410})";
  ScriptedServer server({
      whole_reply(200, make_pod_list("10", pod_text("a", "9"))),
      stream_reply({event("ADDED", pod_text("b", "11"))}, false),  // cut
      stream_reply({event("ADDED", pod_text("c", "12")), "{\"type\":\"ADDED\",\"obj"}, true),
      whole_reply(200, make_pod_list("13", pod_text("a", "9") + "," + pod_text("c", "12"))),
      stream_reply({event("BOOKMARK", R"({"metadata":{"resourceVersion":"15"}})")}, true),
      stream_reply({event("ERROR", kExpired)}, true),
      whole_reply(500, ""),
      whole_reply(200, make_pod_list("20", pod_text("d", "18"))),
      whole_reply(410, kExpired),
      whole_reply(200, make_pod_list("30", pod_text("e", "25"))),
      stream_reply({event("MODIFIED", pod_text("e", "31"))}, false, ScriptedServer::Then::kHold),
  });
  ConnectionConfig config;
  config.url = server.url();
  Client client(config, "t");
  Mirror mirror(client, quick(api_path(kPods), false));
  CHECK(wait_until([&] { return server.requests().size() == 11; }));
  CHECK(mirror.has_keys({"ns/e"}));
  CHECK(mirror.is_told(
      {"->a@", "->b@", "->c@", "b@>-", "->d@", "a@>-", "c@>-", "->e@", "d@>-", "e@>e@"}));
  const auto requests = server.requests();
  CHECK_THAT(requests[1], ContainsSubstring("resourceVersion=10&"));
  CHECK_THAT(requests[1], ContainsSubstring("watch=true&allowWatchBookmarks=true"));
  CHECK_THAT(requests[1], ContainsSubstring("timeoutSeconds="));
  CHECK_THAT(requests[2], ContainsSubstring("resourceVersion=11&"));
  CHECK_THAT(requests[5], ContainsSubstring("resourceVersion=15&"));  // the bookmark's
}

TEST_CASE("over HTTP: an expired position is followed by a list at once", "[kube][reflector]") {
  const std::string expired =
      event("ERROR", R"({"kind":"Status","message":"too old","reason":"Expired","code":410})");
  ScriptedServer server({
      whole_reply(200, make_pod_list("10", pod_text("a", "9"))),
      stream_reply({event("BOOKMARK", R"({"metadata":{"resourceVersion":"15"}})"), expired}, true),
      whole_reply(200, make_pod_list("20", pod_text("b", "18"))),
      stream_reply({expired}, true),  // the new position too: now with back-off
  });
  ConnectionConfig config;
  config.url = server.url();
  Client client(config, "t");
  auto options = quick(api_path(kPods), false);
  options.backoff_initial = 1h;
  options.backoff_max = 1h;
  Mirror mirror(client, options);
  CHECK(mirror.has_keys({"ns/b"}));
  CHECK(wait_until([&] { return server.requests().size() == 4; }));
}

TEST_CASE("over HTTP: a streaming list is complete at its bookmark and goes on as the watch",
          "[kube][reflector]") {
  const std::string end = event("BOOKMARK", R"({"metadata":{"resourceVersion":"20","annotations":)"
                                            R"({"k8s.io/initial-events-end":"true"}}})");
  ScriptedServer server({
      stream_reply({event("ADDED", pod_text("a", "9"))}, false),  // cut half-way: no list
      stream_reply({event("ADDED", pod_text("b", "11")), end, event("ADDED", pod_text("c", "21"))},
                   true),
      stream_reply({event("DELETED", pod_text("b", "22"))}, false, ScriptedServer::Then::kHold),
  });
  ConnectionConfig config;
  config.url = server.url();
  Client client(config, "t");
  Mirror mirror(client);
  CHECK(mirror.has_keys({"ns/c"}));
  CHECK(mirror.is_told({"->a@", "->b@", "a@>-", "->c@", "b@>-"}));
  const auto requests = server.requests();
  REQUIRE(requests.size() == 3);
  for (const auto i : {0U, 1U}) {
    CHECK_THAT(requests[i], ContainsSubstring("sendInitialEvents=true"));
    CHECK_THAT(requests[i], ContainsSubstring("resourceVersionMatch=NotOlderThan"));
    CHECK_THAT(requests[i], ContainsSubstring("allowWatchBookmarks=true"));
    CHECK_THAT(requests[i], !ContainsSubstring("resourceVersion="));
  }
  CHECK_THAT(requests[2], ContainsSubstring("resourceVersion=21&"));
}

TEST_CASE("over HTTP: servers that do not stream lists are asked for pages", "[kube][reflector]") {
  constexpr const char* kForbidden =
      R"({"kind":"Status","reason":"Invalid","message":"sendInitialEvents: Forbidden","code":422})";
  const auto refusal = GENERATE_COPY(
      whole_reply(422, kForbidden), whole_reply(400, "resourceVersionMatch is forbidden"),
      stream_reply({event("ERROR", kForbidden)}, true),
      // Ignores what it does not know: the bookmark is an ordinary one.
      stream_reply({event("ADDED", pod_text("a", "9")),
                    event("BOOKMARK", R"({"metadata":{"resourceVersion":"9"}})")},
                   false, ScriptedServer::Then::kHold));
  ScriptedServer server({refusal, whole_reply(200, make_pod_list("10", pod_text("a", "9"))),
                         stream_reply({}, false, ScriptedServer::Then::kHold)});
  ConnectionConfig config;
  config.url = server.url();
  Client client(config, "t");
  Mirror mirror(client);
  CHECK(mirror.has_keys({"ns/a"}));
  CHECK(wait_until([&] { return server.requests().size() == 3; }));
  CHECK_THAT(server.requests()[1], ContainsSubstring("limit=2"));
}

TEST_CASE("over HTTP: no form of failure makes a busy loop", "[kube][reflector]") {
  const auto reply = GENERATE_COPY(
      ScriptedServer::Reply{""},  // closed at once
      ScriptedServer::Reply{"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\n"
                            "Content-Length: 0\r\n\r\n"},
      whole_reply(403, "no"), whole_reply(500, ""), whole_reply(200, ""), whole_reply(200, "{"),
      stream_reply({}, true), stream_reply({"garbage"}, true), stream_reply({"{}"}, false));
  const bool streaming = GENERATE(false, true);
  ScriptedServer server(std::deque<ScriptedServer::Reply>(1'000, reply));
  ConnectionConfig config;
  config.url = server.url();
  Client client(config, "t");
  ReflectorOptions options = quick(api_path(kPods), streaming);
  options.backoff_initial = 20ms;
  options.backoff_max = 1'000ms;
  set_log_level(LogLevel::kError);
  Mirror mirror(client, options);
  std::this_thread::sleep_for(100ms);
  set_log_level(LogLevel::kInfo);
  INFO(reply.bytes);
  CHECK(server.requests().size() < 24);  // of a 429 that says "at once" three go together
  CHECK_FALSE(mirror.reflector.synced());
}

TEST_CASE("over HTTP: a history that went back is listed again and believed", "[kube][reflector]") {
  ScriptedServer server({
      whole_reply(200, make_pod_list("200", pod_text("a", "150") + "," + pod_text("lost", "180"))),
      // etcd was restored from a backup: its versions count from 100 again.
      stream_reply({event("BOOKMARK", R"({"metadata":{"resourceVersion":"101"}})")}, true),
      whole_reply(200, make_pod_list("101", pod_text("a", "90"))),
      stream_reply({event("ADDED", pod_text("b", "102"))}, false, ScriptedServer::Then::kHold),
  });
  ConnectionConfig config;
  config.url = server.url();
  Client client(config, "t");
  Mirror mirror(client, quick(api_path(kPods), false));
  CHECK(mirror.has_keys({"ns/a", "ns/b"}));
  CHECK(mirror.store.get("ns/a")->meta.resource_version == "90");
  CHECK_THAT(server.requests()[3], ContainsSubstring("resourceVersion=101&"));
}

}  // namespace
}  // namespace nervex::kube
