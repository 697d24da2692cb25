#include "base/http/ops_routes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "base/http/client.h"
#include "base/log.h"

namespace nervex {
namespace {

struct Ops {
  Metrics metrics;
  Health health;
  Result<Nothing> live = ok();
  Result<Nothing> synced = ok();
  HttpServer server{ops_options("127.0.0.1:0")};

  Ops() {
    health.add_live("leader-election", [this] { return live; });
    health.add_ready("caches", [this] { return synced; });
    health.add_ready("certificate", [] { return ok(); });
    add_ops_routes(server, metrics, health);
    REQUIRE(server.start());
  }
  ~Ops() { init_logging(LogLevel::kInfo, LogFormat::kText); }

  HttpResponse call(const std::string& method, const std::string& path,
                    const std::string& body = "") const {
    HttpClient client({"http://127.0.0.1:" + std::to_string(server.port())});
    const auto response = client.send(method, path, {}, body, body.empty() ? "" : "text/plain");
    REQUIRE(response);
    return *response;
  }
};

TEST_CASE("a probe shows the reason of each failed check of its kind", "[base][ops]") {
  Ops ops;
  CHECK(ops.call("GET", "/healthz").status == 200);
  CHECK(ops.call("GET", "/readyz").status == 200);
  CHECK(ops.call("HEAD", "/readyz").status == 200);

  ops.synced = Error{Code::kTransient, "pods are not listed yet"};
  CHECK(ops.call("GET", "/healthz").status == 200);
  CHECK(ops.call("GET", "/readyz").status == 503);
  CHECK(ops.call("GET", "/readyz").body == "caches: pods are not listed yet\n");

  ops.synced = ok();
  ops.live = Error{Code::kTransient, "the lease was not renewed for 40 s"};
  CHECK(ops.call("GET", "/readyz").status == 200);
  CHECK(ops.call("GET", "/healthz").status == 503);
  CHECK(ops.call("GET", "/healthz").body ==
        "leader-election: the lease was not renewed for 40 s\n");
}

TEST_CASE("a program that is shutting down is live but not ready", "[base][ops]") {
  Ops ops;
  ops.health.set_stopping();
  CHECK(ops.call("GET", "/healthz").status == 200);
  CHECK(ops.call("GET", "/readyz").status == 503);
  CHECK(ops.call("GET", "/readyz").body.starts_with("shutting down\n"));
}

TEST_CASE("metrics are served as Prometheus asks for them", "[base][ops]") {
  Ops ops;
  ops.metrics.counter("a_total", "Things.").add();
  const auto response = ops.call("GET", "/metrics");
  CHECK(response.status == 200);
  CHECK(response.headers.at("content-type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(response.body.find("a_total 1\n") != std::string::npos);
  CHECK(ops.call("POST", "/metrics", "x").status == 405);
}

TEST_CASE("the log level is read and set while the program runs", "[base][ops]") {
  Ops ops;
  CHECK(ops.call("GET", "/loglevel").body == "{\"level\":\"info\"}\n");
  const std::string body = GENERATE("debug", " debug\n", R"({"level":"debug"})");
  const auto response = ops.call("PUT", "/loglevel", body);
  CHECK(response.status == 200);
  CHECK(response.body == "{\"level\":\"debug\"}\n");
  CHECK(log_level() == LogLevel::kDebug);
}

TEST_CASE("an invalid log level changes nothing", "[base][ops]") {
  Ops ops;
  const std::string body = GENERATE("loud", "", "{}", R"({"level":7})", "INFO");
  CHECK(ops.call("PUT", "/loglevel", body).status == 400);
  CHECK(ops.call("POST", "/loglevel", "debug").status == 405);
  CHECK(ops.call("DELETE", "/loglevel").status == 405);
  CHECK(log_level() == LogLevel::kInfo);
}

TEST_CASE("the log level can be set only from this host", "[base][ops]") {
  struct Row {
    std::string peer;
    int status;
  };
  const auto row = GENERATE(values<Row>({{"127.0.0.1", 200},
                                         {"127.9.9.9", 200},
                                         {"::1", 200},
                                         {"10.0.0.7", 403},
                                         {"::ffff:10.0.0.7", 403},
                                         {"fe80::1%eth0", 403},
                                         {"", 403}}));
  INFO(row.peer);
  HttpRequest request;
  request.method = "PUT";
  request.body = "debug";
  request.peer = row.peer;
  CHECK(answer_log_level(request).status == row.status);
  CHECK((log_level() == LogLevel::kDebug) == (row.status == 200));
  init_logging(LogLevel::kInfo, LogFormat::kText);
}

}  // namespace
}  // namespace nervex
