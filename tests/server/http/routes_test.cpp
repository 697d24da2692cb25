#include "server/http/routes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <latch>
#include <map>
#include <string_view>

#include "base/http/client.h"
#include "base/http/ops_routes.h"
#include "tests/base/raw_socket.h"
#include "tests/server/world.h"

namespace nervex::server {
namespace {

// The whole API behind a real socket.
struct ServingRoutes {
  World world;
  std::unique_ptr<Authorizer> authorizer = allow_all();
  Result<Nothing> ready = ok();
  RequestLimits limits{512};
  Metrics metrics;
  Health health;
  HttpServer http;

  ServingRoutes() : http(server_options("127.0.0.1:0", 2048)) {
    add_routes(
        http, world.replicas, *authorizer, limits, [this] { return ready; }, metrics);
    add_health_routes(http, health);
    REQUIRE(http.start());
  }

  HttpResponse send(const std::string& method, const std::string& path,
                    const std::string& body = "",
                    const std::map<std::string, std::string>& headers = {}) {
    HttpClientOptions to;
    to.url = "http://127.0.0.1:" + std::to_string(http.port());
    HttpClient client(to);
    auto response =
        client.send(method, path, headers, body, body.empty() ? "" : "application/json");
    REQUIRE(response);
    return *response;
  }
};

const char* const kGood = R"({"namespace":"rl","coordinator":"dqn-coordinator",)"
                          R"("collectors":{"replicas":2},"learners":{"replicas":3}})";

}  // namespace

TEST_CASE("a flood of invalid requests does not suppress logs of refused callers",
          "[server][routes]") {
  struct Deny final : Authorizer {
    Result<Identity> identify(const RequestHeaders& headers, const std::string&) override {
      if (find_header(headers, "authorization") != nullptr) return Identity{};
      return Error{Code::kUnauthorized, "no token"};
    }
    Result<Nothing> allow(const Identity&, const Subject&) override { return ok(); }
  };
  World world;
  Deny authorizer;
  RequestLimits limits(512);
  HttpRequest nonsense{.method = "GET",
                       .path = "/v1alpha1/replicas",
                       .query = {{"no", "such"}},
                       .headers = {{"authorization", "x"}},
                       .body = "",
                       .peer = "192.0.2.1"};
  for (int i = 0; i < 30; ++i) {
    CHECK(answer_replicas(world.replicas, authorizer, limits, nonsense).status == 400);
  }
  CHECK(limits.denials.admit(SystemClock().mono()) == 0);  // its line would be written

  nonsense.headers.clear();
  for (int i = 0; i < 30; ++i) {
    CHECK(answer_replicas(world.replicas, authorizer, limits, nonsense).status == 401);
  }
  // Counted there, and only there.
  CHECK(limits.denials.admit(SystemClock().mono() + std::chrono::seconds(2)) > 0);
}

TEST_CASE("each address and method has its status, in the envelope", "[server][routes]") {
  struct Row {
    std::string method;
    std::string path;
    std::string body;
    int status;
    bool success;
  };
  const auto row = GENERATE(values<Row>({
      {"GET", "/v1alpha1/replicas", "", 200, true},
      {"GET", "/v1alpha1/replicas?namespace=rl", "", 200, true},
      {"GET", "/v1alpha1/replicas?namespace=rl&coordinator=dqn-coordinator", "{}", 200, true},
      {"GET", "/v1alpha1/replicas?namespace=rl&coordinator=nobody", "", 404, false},
      {"GET", "/v1alpha1/replicas?space=rl", "", 400, false},
      {"POST", "/v1alpha1/replicas", kGood, 200, true},
      {"POST", "/v1alpha1/replicas", "", 400, false},
      {"POST", "/v1alpha1/replicas", R"({"namespace":"rl","coordinator":"nobody"})", 404, false},
      {"DELETE", "/v1alpha1/replicas", kGood, 200, true},
      {"DELETE", "/v1alpha1/replicas", "", 400, false},
      {"DELETE", "/v1alpha1/replicas", R"({"namespace":"rl","coordinator":"nobody"})", 404, false},
      {"PATCH", "/v1alpha1/replicas", kGood, 501, false},
      {"POST", "/v1alpha1/replicas/failed", R"({"namespace":"rl","coordinator":"dqn-coordinator"})",
       200, true},
      {"POST", "/v1alpha1/replicas/failed",
       R"({"namespace":"rl","coordinator":"dqn-coordinator","learners":["nobody"]})", 404, false},
      {"POST", "/v1alpha1/replicas/failed", kGood, 400, false},
      {"POST", "/v1alpha1/replicas/failed", "", 400, false},
      {"GET", "/v1alpha1/replicas/failed", "", 501, false},
      {"DELETE", "/v1alpha1/replicas/failed", kGood, 501, false},
      {"GET", "/v1alpha1/replicas/", "", 404, false},
      {"GET", "/", "", 404, false},
  }));
  INFO(row.method << " " << row.path << " " << row.body);
  ServingRoutes serving;
  const HttpResponse response = serving.send(row.method, row.path, row.body);
  CHECK(response.status == row.status);
  CHECK(response.headers.at("content-type") == "application/json");
  const auto json = kube::parse_json(response.body);
  REQUIRE(json);
  CHECK((*json)["success"] == row.success);
  CHECK((*json)["code"] == (row.success ? 0 : 1));
}

TEST_CASE("a POST answers with the addresses of what it added", "[server][routes]") {
  ServingRoutes serving;
  const auto json = kube::parse_json(serving.send("POST", "/v1alpha1/replicas", kGood).body);
  REQUIRE(json);
  const Json& data = (*json)["data"];
  CHECK(data["namespace"] == "rl");
  CHECK(data["coordinator"] == "dqn-coordinator");
  CHECK(data["collectors"].size() == 2);
  CHECK(data["learners"].size() == 3);
}

TEST_CASE("the same call made twice is done twice if its caller read the first reply",
          "[server][routes]") {
  ServingRoutes serving;
  const std::string first = serving.send("POST", "/v1alpha1/replicas", kGood).body;
  const std::string second = serving.send("POST", "/v1alpha1/replicas", kGood).body;
  CHECK(first != second);
  CHECK(serving.metrics.text().find("nervex_server_idempotent_replays_total 0\n") !=
        std::string::npos);
}

TEST_CASE("the same call made again after its caller left is answered as before",
          "[server][routes]") {
  ServingRoutes serving;
  // The first caller leaves while its call is at work: the API server is what makes it wait.
  std::latch at_work(1);
  std::latch left(1);
  serving.world.api.fail_next(
      [&](const kube::ApiRequest& request) {
        if (request.method != "PATCH") return false;
        at_work.count_down();
        left.wait();
        return true;
      },
      {Code::kConflict, "as told"});
  {
    auto caller = test::RawSocket::connect_to(serving.http.port());
    caller.send("POST /v1alpha1/replicas HTTP/1.1\r\nHost: test\r\nContent-Length: " +
                std::to_string(std::string_view(kGood).size()) + "\r\n\r\n" + kGood);
    at_work.wait();
  }
  left.count_down();
  const HttpResponse again = serving.send("POST", "/v1alpha1/replicas", kGood);
  CHECK(again.status == 200);
  CHECK(again.body.starts_with(R"({"success":true,)"));
  CHECK(serving.world.requests_now()["next"]["collector"] == 4098);  // once
  const std::string text = serving.metrics.text();
  INFO(text);
  CHECK(text.find("nervex_server_idempotent_replays_total 1\n") != std::string::npos);
  CHECK(text.find("nervex_server_conflicts_total 1\n") != std::string::npos);

  // That one was read, so the next is another.
  CHECK(serving.send("POST", "/v1alpha1/replicas", kGood).body != again.body);
}

TEST_CASE("a call is recorded by the SHA-256 of its body", "[server][routes]") {
  ServingRoutes serving;
  serving.send("POST", "/v1alpha1/replicas", kGood);
  CHECK(serving.world.requests_now()["calls"][0]["bodyHash"] ==
        "7f7ca1adcd67c30bcbcd1b7498f510912bfae6d141495db7eee8535da4733718");  // sha256sum says so
}

TEST_CASE("an idempotency key makes any number of calls one", "[server][routes]") {
  ServingRoutes serving;
  const std::map<std::string, std::string> key = {{"Idempotency-Key", "8e03978e"}};
  const std::string first = serving.send("POST", "/v1alpha1/replicas", kGood, key).body;
  CHECK(serving.send("POST", "/v1alpha1/replicas", kGood, key).body == first);
  const HttpResponse other = serving.send("DELETE", "/v1alpha1/replicas", kGood, key);
  CHECK(other.status == 409);
  CHECK(other.body.find("Idempotency-Key 8e03978e") != std::string::npos);
  CHECK(serving
            .send("POST", "/v1alpha1/replicas", kGood, {{"Idempotency-Key", std::string(256, 'k')}})
            .status == 400);
}

TEST_CASE("limits come from the flags, and errors name the flag", "[server][routes]") {
  World world;
  Limits limits;
  limits.replicas_per_request = 3;
  limits.replicas_per_job = 4;
  RequestLimits request_limits(16);
  Replicas replicas(world.api, world.stores, world.clock, {.writer = "limited", .limits = limits});
  const auto ask = [&](auto answer, const Json& collectors) {
    HttpRequest request;
    request.method = "POST";
    request.body = kube::to_text(
        {{"namespace", "rl"}, {"coordinator", "dqn-coordinator"}, {"collectors", collectors}});
    return answer(replicas, *allow_all(), request_limits, request);
  };
  CHECK(ask(answer_replicas, {{"replicas", 4}}).status == 400);
  CHECK(ask(answer_failed, {"a", "b", "c", "d"}).status == 400);
  CHECK(ask(answer_replicas, {{"replicas", 3}}).status == 200);
  const HttpReply refused = ask(answer_replicas, {{"replicas", 2}});
  CHECK(refused.status == 409);
  CHECK(refused.body.find("at most 4:") != std::string::npos);
}

TEST_CASE("until the caches are synced clients are told to retry", "[server][routes]") {
  ServingRoutes serving;
  serving.ready = Error{Code::kTransient, "pods are not listed yet"};
  const HttpResponse response = serving.send("GET", "/v1alpha1/replicas");
  CHECK(response.status == 200);
  CHECK(response.body.starts_with(R"({"success":false,"code":1,)"));

  serving.ready = ok();
  CHECK(serving.send("GET", "/v1alpha1/replicas").body.starts_with(R"({"success":true)"));
}

TEST_CASE("requests are counted by verb and code", "[server][routes]") {
  ServingRoutes serving;
  serving.send("GET", "/v1alpha1/replicas");
  serving.send("POST", "/v1alpha1/replicas", "");
  serving.send("BREW", "/v1alpha1/replicas");
  serving.send("PATCH", "/v1alpha1/replicas/failed", "{}");
  const std::string text = serving.metrics.text();
  INFO(text);
  const std::string name = "nervex_server_requests_total";
  CHECK(text.find(name + "{code=\"200\",verb=\"GET\"} 1\n") != std::string::npos);
  CHECK(text.find(name + "{code=\"400\",verb=\"POST\"} 1\n") != std::string::npos);
  CHECK(text.find(name + "{code=\"501\",verb=\"other\"} ") != std::string::npos);
  CHECK(text.find("BREW") == std::string::npos);  // callers must not make metrics
}

TEST_CASE("an unsupported method names the supported ones", "[server][routes]") {
  ServingRoutes serving;
  CHECK(serving.send("PATCH", "/v1alpha1/replicas").headers.at("allow") == "GET, POST, DELETE");
  CHECK(serving.send("GET", "/v1alpha1/replicas/failed").headers.at("allow") == "POST");
  const HttpResponse health = serving.send("POST", "/healthz");
  CHECK(health.status == 501);
  CHECK(health.headers.at("allow") == "GET, HEAD");
  CHECK(health.body.starts_with(R"({"success":false,"code":1,)"));
}

TEST_CASE("what the HTTP server refuses by itself is in the envelope", "[server][routes]") {
  ServingRoutes serving;
  struct Row {
    std::string when;
    std::string path;
    std::size_t body_bytes;
    int status;
  };
  const auto row = GENERATE(values<Row>({
      {"the body is too large", "/v1alpha1/replicas", (1 << 20) + 1, 413},
      {"the URI is too long", "/v1alpha1/replicas?name=" + std::string(1024, 'a'), 0, 414},
      {"the head is too large", "/" + std::string(20'000, 'a'), 0, 414},
  }));
  INFO("when " << row.when);
  const HttpResponse response = serving.send("POST", row.path, std::string(row.body_bytes, ' '));
  CHECK(response.status == row.status);
  CHECK(response.headers.at("content-type") == "application/json");
  CHECK(response.body.starts_with(R"({"success":false,"code":1,"message":")"));
  CHECK(response.body.ends_with(R"(","data":null})"));
}

}  // namespace nervex::server
