#include "kube/client.h"

#include <fmt/format.h>

#include <mutex>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/http/server.h"
#include "kube/model/watch.h"
#include "tests/support/golden.h"
#include "tests/support/scripted_server.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace nervex::kube {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::ScriptedServer;
using testing::stream_reply;
using testing::TempFolder;
using testing::whole_reply;

// An API server reduced to the last request and the next replies.
class StubServer {
 public:
  StubServer() : server_(HttpServerOptions{}) {
    server_.handle_rest([this](const HttpRequest& request) {
      std::unique_lock lock(mutex_);
      requests_.push_back(request);
      if (replies_.empty()) return HttpReply{};
      HttpReply reply = replies_.front();
      replies_.erase(replies_.begin());
      return reply;
    });
    REQUIRE(server_.start());
  }

  void reply(int status, const std::string& body = "{}") {
    std::unique_lock lock(mutex_);
    HttpReply reply;
    reply.status = status;
    reply.body = body;
    replies_.push_back(reply);
  }
  HttpRequest last() const {
    std::unique_lock lock(mutex_);
    REQUIRE_FALSE(requests_.empty());
    return requests_.back();
  }
  std::size_t count() const {
    std::unique_lock lock(mutex_);
    return requests_.size();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }

 private:
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  std::vector<HttpReply> replies_;
  HttpServer server_;  // last: stops before what its handler uses goes away
};

ConnectionConfig config_for(const std::string& url) {
  ConnectionConfig config;
  config.url = url;
  return config;
}

// "" if it is not there.
std::string header_value(const HttpRequest& request, std::string_view name) {
  const std::string* found = find_header(request.headers, name);
  return found == nullptr ? "" : *found;
}

ApiRequest get(const std::string& path) { return {"GET", path, "", ""}; }

TEST_CASE("a request carries user agent and accept headers", "[kube][client]") {
  StubServer server;
  ConnectionConfig config = config_for(server.url());
  config.token = "secret";
  Client client(config, "nervex-test/1");
  server.reply(201, R"({"kind":"Pod"})");
  const auto reply = client.send(
      {"PATCH", "/api/v1/pods?limit=5&x=%2F", R"({"a":1})", "application/merge-patch+json"});
  REQUIRE(reply);
  CHECK(*reply == R"({"kind":"Pod"})");
  const HttpRequest seen = server.last();
  CHECK(seen.method == "PATCH");
  CHECK(seen.path == "/api/v1/pods");
  CHECK(seen.query.find("limit")->second == "5");
  CHECK(seen.query.find("x")->second == "/");
  CHECK(seen.body == R"({"a":1})");
  CHECK(header_value(seen, "authorization") == "Bearer secret");
  CHECK(header_value(seen, "accept") == "application/json");
  CHECK(header_value(seen, "user-agent") == "nervex-test/1");
  CHECK(header_value(seen, "content-type") == "application/merge-patch+json");
}

TEST_CASE("every verb of the API reaches the server", "[kube][client]") {
  StubServer server;
  Client client(config_for(server.url()), "t");
  for (const auto* method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
    const std::string body = method == std::string("GET") ? "" : "{\"x\":1}";
    CHECK(client.send({method, "/api", body, "application/json"}));
    CHECK(server.last().method == method);
    CHECK(server.last().body == body);
    CHECK(find_header(server.last().headers, "authorization") == nullptr);
  }
}

TEST_CASE("a server below a path gets the path", "[kube][client]") {
  StubServer server;
  Client client(config_for(server.url() + "/k8s/clusters/c1/"), "t");
  CHECK(client.send(get("/api/v1/pods")));
  CHECK(server.last().path == "/k8s/clusters/c1/api/v1/pods");
}

TEST_CASE("a refusal is an error with the verb, the path and the API server's message",
          "[kube][client]") {
  StubServer server;
  Client client(config_for(server.url()), "t");
  server.reply(409, R"({"kind":"Status","message":"already exists","code":409})");
  CHECK(client.send({"POST", "/api/v1/pods?dryRun=All", "{}", "application/json"}).error() ==
        Error{Code::kConflict, "POST /api/v1/pods: 409 already exists"});
  server.reply(502, "");  // without Retry-After
  CHECK(client.send(get("/api")).error().code == Code::kTransient);
  CHECK(server.count() == 2);  // nothing is repeated behind the caller's back
}

TEST_CASE("an unreachable server is a transient error that says so", "[kube][client]") {
  std::string url;
  {
    StubServer server;
    url = server.url();
  }
  Client client(config_for(url), "t");
  const auto reply = client.send(get("/api/v1/pods"));
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == Code::kTransient);
  CHECK_THAT(reply.error().message, ContainsSubstring("GET /api/v1/pods"));
}

TEST_CASE("the token file is read again after a 401, and the request repeated", "[kube][client]") {
  TempFolder folder;
  StubServer server;
  ConnectionConfig config = config_for(server.url());
  config.token_file = folder.write("token", "first\n");
  config.token = "never";
  Client client(config, "t");
  CHECK(client.send(get("/api")));
  CHECK(header_value(server.last(), "authorization") == "Bearer first");

  folder.write("token", "second");
  CHECK(client.send(get("/api")));
  CHECK(header_value(server.last(), "authorization") == "Bearer first");  // not a minute old

  server.reply(401);
  CHECK(client.send(get("/api")));
  CHECK(header_value(server.last(), "authorization") == "Bearer second");

  for (int i = 0; i < 3; ++i) server.reply(401);
  CHECK(client.send(get("/api")).error().code == Code::kUnauthorized);
  CHECK(server.count() == 6);  // 2 + 2 + 2: a second token that is refused is not followed by one
}

TEST_CASE("a fixed token is not tried again", "[kube][client]") {
  StubServer server;
  ConnectionConfig config = config_for(server.url());
  config.token = "t";
  Client client(config, "t");
  server.reply(401);
  CHECK(client.send(get("/api")).error().code == Code::kUnauthorized);
  CHECK(server.count() == 1);
}

TEST_CASE("without its token file a client sends nothing", "[kube][client]") {
  TempFolder folder;
  StubServer server;
  ConnectionConfig config = config_for(server.url());
  config.token_file = folder.path() + "/token";
  Client client(config, "t");
  CHECK(client.send(get("/api")).error().code == Code::kTransient);
  CHECK(client.stream("/api?watch=true", [](std::string_view) { return true; }, {}).error().code ==
        Code::kTransient);
  CHECK(server.count() == 0);
  folder.write("token", "late");
  CHECK(client.send(get("/api")));
}

TEST_CASE("a 429 is retried if it has Retry-After", "[kube][client]") {
  const std::string busy =
      "HTTP/1.1 429 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  const std::string busy_long =
      "HTTP/1.1 429 Busy\r\nRetry-After: 60\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  ScriptedServer server({{busy}, whole_reply(200, "{}"), {busy_long}, {busy}, {busy}, {busy}});
  Client client(config_for(server.url()), "t");
  CHECK(client.send(get("/a")));
  CHECK(server.requests().size() == 2);
  CHECK(client.send(get("/b")).error().code == Code::kTransient);  // a minute is the caller's wait
  CHECK(server.requests().size() == 3);
  CHECK(client.send(get("/c")).error().code == Code::kTransient);
  CHECK(server.requests().size() == 6);
}

std::string refusal(int status, const std::string& retry_after) {
  return fmt::format(
      "HTTP/1.1 {} No\r\nRetry-After: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status,
      retry_after);
}

TEST_CASE("a call ends in time in every kind of wait", "[kube][client]") {
  using std::chrono::milliseconds;
  ScriptedServer::Reply trickling = whole_reply(200, std::string(200, ' '));
  trickling.after_each_byte = milliseconds(20);  // each piece comes soon
  ScriptedServer server({trickling, {refusal(429, "1")}, whole_reply(200, "{}")});
  ConnectionConfig config = config_for(server.url());
  config.call_timeout = milliseconds(500);
  Client client(config, "t");
  CHECK(client.send(get("/trickles")).error().code == Code::kTransient);
  const auto busy = client.send(get("/busy"));  // the wait alone would be longer
  REQUIRE_FALSE(busy);
  CHECK(busy.error().retry_after == std::chrono::seconds(1));
  CHECK(server.requests().size() == 2);
  CHECK(client.send(get("/a")));  // each call has its own time
}

TEST_CASE("requests that store nothing are retried once after a lost connection",
          "[kube][client]") {
  const std::string path =
      GENERATE("/apis/authorization.k8s.io/v1/subjectaccessreviews", "/pods?dryRun=All&timeout=1s");
  ScriptedServer server({{""}, whole_reply(201, "{}"), {""}, {""}, whole_reply(201, "{}")});
  Client client(config_for(server.url()), "t");
  const ApiRequest question{"POST", path, "{}", "application/json"};
  CHECK(client.send(question));
  CHECK(server.requests().size() == 2);
  CHECK_FALSE(client.send(question));
  CHECK(server.requests().size() == 4);
}

TEST_CASE("the server's Retry-After reaches the caller", "[kube][client]") {
  ScriptedServer server({{refusal(429, "60")},
                         {refusal(503, "1")},
                         {refusal(500, "Sun, 06 Nov 1994 08:49:37 GMT")},
                         {refusal(503, "soon")},
                         {refusal(404, "5")},
                         {refusal(429, "7")}});
  Client client(config_for(server.url()), "t");
  const ApiRequest post{"POST", "/a", "{}", "application/json"};
  CHECK(client.send(post).error().retry_after == std::chrono::seconds(60));
  CHECK(client.send(post).error().retry_after == std::chrono::seconds(1));
  CHECK(client.send(post).error().retry_after == std::chrono::seconds(0));
  CHECK(client.send(post).error().retry_after == std::nullopt);
  CHECK(client.send(post).error().retry_after == std::nullopt);
  CHECK(client.stream("/a", [](std::string_view) { return true; }, {}).error().retry_after ==
        std::chrono::seconds(7));
  CHECK(server.requests().size() == 6);  // a write that failed is never repeated behind its back
}

TEST_CASE("a failed read is retried if it has Retry-After", "[kube][client]") {
  ScriptedServer server({{refusal(503, "0")}, whole_reply(200, "{}")});
  Client client(config_for(server.url()), "t");
  CHECK(client.send(get("/a")));
}

// The observer's records, without the times.
class Observed {
 public:
  RequestObserver observer() {
    return [this](const RequestSeen& seen) {
      const std::unique_lock lock(mutex_);
      REQUIRE(seen.took > std::chrono::nanoseconds(0));
      lines_.push_back(fmt::format("{} {}", seen.method, seen.status));
    };
  }
  std::vector<std::string> lines() const {
    const std::unique_lock lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST_CASE("an observer sees each request with its status", "[kube][client]") {
  ScriptedServer server({{refusal(429, "0")},
                         whole_reply(201, "{}"),
                         {""},
                         stream_reply({"one"}, true),
                         whole_reply(410, "{}"),
                         {""}});
  Observed observed;
  Client client(config_for(server.url()), "t", observed.observer());
  const auto ignore = [](std::string_view) { return true; };
  CHECK(client.send({"POST", "/a", "{}", "application/json"}));
  CHECK_FALSE(client.send(get("/a")));
  CHECK(client.stream("/a", ignore, {}));
  CHECK_FALSE(client.stream("/a", ignore, {}));
  CHECK_FALSE(client.stream("/a", ignore, {}));
  CHECK(observed.lines() == std::vector<std::string>{"POST 429", "POST 201", "GET 0", "WATCH 200",
                                                     "WATCH 410", "WATCH 0"});
}

TEST_CASE("an observer gets the warnings of all headers that bring some", "[kube][client]") {
  ScriptedServer server(
      {{"HTTP/1.1 201 Created\r\nWarning: 299 - \"one\"\r\nWarning: 299 - "
        "\"two\"\r\nWarning: 299 - \"three\"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"},
       whole_reply(201, "{}")});
  std::vector<std::string> seen;
  Client client(config_for(server.url()), "t", [&](const RequestSeen& request) {
    for (auto& text : parse_warnings(request.warnings)) seen.push_back(std::move(text));
  });
  CHECK(client.send({"POST", "/a", "{}", "application/json"}));
  CHECK(client.send({"POST", "/a", "{}", "application/json"}));
  CHECK(seen == std::vector<std::string>{"one", "two", "three"});
}

TEST_CASE("the texts of a Warning header are taken out of it", "[kube][client]") {
  using Texts = std::vector<std::string>;
  struct Row {
    std::string header;
    Texts want;
  };
  const auto row = GENERATE(values<Row>({
      {"", {}},
      {"299 - none", {}},
      {R"(299 - "a, b")", {"a, b"}},
      {R"(299 - "a", 299 host:80 "b")", {"a", "b"}},
      {R"(299 - "say \"a\" or \\" , 299 - "")", {R"(say "a" or \)", ""}},
      {R"(299 - "a" "Sun, 06 Nov 1994 08:49:37 GMT", 299 - "b")", {"a", "b"}},
      {R"(299 - "cut)", {"cut"}},
      {R"(299 - "cut\)", {"cut\\"}},
      {R"(299 - "a" ")", {"a"}},
  }));
  INFO(row.header);
  CHECK(parse_warnings(row.header) == row.want);
}

TEST_CASE("an observer sees a watch when it has started", "[kube][client]") {
  ScriptedServer server({stream_reply({"one"}, false, ScriptedServer::Then::kHold)});
  Observed observed;
  Client client(config_for(server.url()), "t", observed.observer());
  const auto on_line = [&](std::string_view) {
    CHECK(observed.lines() == std::vector<std::string>{"WATCH 200"});
    return false;
  };
  CHECK(client.stream("/a", on_line, {}));
  CHECK(observed.lines().size() == 1);
}

TEST_CASE("when its program stops a client waits for nothing", "[kube][client]") {
  const std::string busy = refusal(429, "2");
  const auto reply = GENERATE_COPY(values<ScriptedServer::Reply>(
      {{"", ScriptedServer::Then::kHold}, {busy, ScriptedServer::Then::kClose}}));
  ScriptedServer server({reply, {"", ScriptedServer::Then::kHold}});
  Client client(config_for(server.url()), "t");
  const bool is_watch = GENERATE(false, true) && reply.bytes.empty();
  Result<Nothing> end = ok();
  {
    const std::jthread caller([&] {
      if (is_watch) {
        end = client.stream("/a", [](std::string_view) { return true; }, {});
      } else if (auto sent = client.send(get("/a")); !sent) {
        end = sent.error();
      }
    });
    REQUIRE(testing::wait_until([&] { return !server.requests().empty(); }));
    client.end_calls_by(SystemClock().mono());
  }
  REQUIRE_FALSE(end);
  CHECK(end.error().code == Code::kTransient);
  CHECK_THAT(end.error().message, ContainsSubstring("/a: ") && ContainsSubstring("stopping"));
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a watch hands on line after line until it ends", "[kube][client]") {
  ScriptedServer server({stream_reply({"one", "two"}, true)});
  ConnectionConfig config = config_for(server.url());
  config.token = "secret";
  Client client(config, "t");
  std::vector<std::string> lines;
  const auto ended = client.stream("/api/v1/pods?watch=true",
                                   [&](std::string_view line) {
                                     lines.emplace_back(line);
                                     return true;
                                   },
                                   {});
  CHECK(ended);
  CHECK(lines == std::vector<std::string>{"one", "two"});
  CHECK_THAT(server.requests().at(0), ContainsSubstring("GET /api/v1/pods?watch=true HTTP/1.1"));
  CHECK_THAT(server.requests().at(0), ContainsSubstring("Bearer secret"));
}

// The same reply as protobuf; a stream is one that does not tell its length.
ScriptedServer::Reply protobuf_reply(const std::string& body, bool is_stream) {
  return {fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf{}\r\n"
                      "Connection: close\r\n{}\r\n{}",
                      is_stream ? ";stream=watch" : "",
                      is_stream ? "" : fmt::format("Content-Length: {}\r\n", body.size()), body),
          ScriptedServer::Then::kClose,
          {},
          {}};
}

TEST_CASE("pods are requested as protobuf, and returned as JSON", "[kube][client]") {
  ScriptedServer server({protobuf_reply(testing::golden("kube/pods.pb"), false),
                         protobuf_reply(testing::golden("kube/pods_watch.pb"), true),
                         whole_reply(200, "{}")});
  Client client(config_for(server.url()), "t");
  const auto list = client.send({"GET", "/api/v1/pods", "", ""});
  REQUIRE(list);
  CHECK(split_list(*list)->items.size() == 5);
  std::vector<std::string> lines;
  CHECK(client.stream("/api/v1/pods?watch=true",
                      [&](std::string_view line) {
                        lines.emplace_back(line);
                        return true;
                      },
                      {}));
  REQUIRE(lines.size() == 6);
  CHECK(split_watch_line(lines.at(5))->type == WatchType::kBookmark);
  CHECK(client.send({"GET", "/api/v1/nodes", "", ""}));
  const auto accepted = [&](std::size_t request) { return server.requests().at(request); };
  CHECK_THAT(accepted(0),
             ContainsSubstring("application/vnd.kubernetes.protobuf,application/json"));
  CHECK_THAT(accepted(1),
             ContainsSubstring("application/vnd.kubernetes.protobuf,application/json"));
  CHECK_THAT(accepted(2), !ContainsSubstring("protobuf"));
}

TEST_CASE("after unreadable protobuf JSON is requested", "[kube][client]") {
  const bool is_stream = GENERATE(false, true);
  const std::string frame({'\0', '\0', '\0', '\1', 'x'});
  ScriptedServer server({protobuf_reply(frame, is_stream), whole_reply(200, "{}")});
  Client client(config_for(server.url()), "t");
  const auto done =
      is_stream
          ? client.stream("/api/v1/pods?watch=true", [](std::string_view) { return true; }, {})
          : Result<Nothing>(client.send({"GET", "/api/v1/pods", "", ""}).error());
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Code::kTransient);
  CHECK_THAT(done.error().message, ContainsSubstring("asking for JSON from now on"));
  CHECK(client.send({"GET", "/api/v1/pods", "", ""}));
  CHECK_THAT(server.requests().at(1), !ContainsSubstring("protobuf"));
}

TEST_CASE("a watch that is refused is the error its status stands for", "[kube][client]") {
  ScriptedServer server({whole_reply(410, R"({"kind":"Status","message":"too old"})")});
  Client client(config_for(server.url()), "t");
  const auto ended =
      client.stream("/api/v1/pods?watch=true", [](std::string_view) { return true; }, {});
  REQUIRE_FALSE(ended);
  CHECK(ended.error() == Error{Code::kExpired, "WATCH /api/v1/pods: 410 too old"});
}

TEST_CASE("a watch that is cut off is a transient error", "[kube][client]") {
  ScriptedServer server({stream_reply({"one"}, false)});
  Client client(config_for(server.url()), "t");
  const auto ended = client.stream("/api?watch=true", [](std::string_view) { return true; }, {});
  REQUIRE_FALSE(ended);
  CHECK(ended.error().code == Code::kTransient);
}

TEST_CASE("a watch stops soon after it is asked to", "[kube][client]") {
  ScriptedServer server({stream_reply({"one"}, false, ScriptedServer::Then::kHold)});
  Client client(config_for(server.url()), "t");
  std::stop_source stop;
  const auto started = std::chrono::steady_clock::now();
  const auto ended = client.stream(
      "/api?watch=true",
      [&](std::string_view) {
        stop.request_stop();
        return true;
      },
      stop.get_token());
  CHECK(ended);
  CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(3));
}

}  // namespace
}  // namespace nervex::kube
