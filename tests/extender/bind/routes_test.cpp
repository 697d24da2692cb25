#include "extender/bind/routes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "base/http/client.h"
#include "extender/metrics.h"
#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using testing::a_set;
using testing::ask;
using testing::ExtenderCluster;

struct Server : ExtenderCluster {
  Result<Nothing> ready = ok();
  Metrics metrics;
  HttpServer server{server_options("127.0.0.1:0", 0)};
  std::unique_ptr<HttpClient> client;

  Server() {
    add_routes(
        server, cache.binds, binder, [this] { return ready; }, metrics);
    REQUIRE(server.start().has_value());
    client = std::make_unique<HttpClient>(
        HttpClientOptions{"http://127.0.0.1:" + std::to_string(server.port())});
  }
  HttpResponse call(const std::string& method, const std::string& path,
                    const std::string& body = "") const {
    const auto response = client->send(method, path, {}, body, "application/json");
    REQUIRE(response.has_value());
    return *response;
  }
  Json post(const std::string& path, const std::string& body) const {
    const auto response = call("POST", path, body);
    CHECK(response.status == 200);
    return *kube::parse_json(response.body);
  }
};

TEST_CASE("filter and bind answer in the format of kube-scheduler", "[extender][routes]") {
  Server s;
  s.add_node("n1", 8);
  s.add_group("a", {a_set("learner", 1, ask(8))});
  const auto names = s.plan_and_add_pods("a");
  const Json pod = s.api.get(kube::kPods, testing::kNs, names[0]);
  const Json args{{"Pod", pod}, {"Nodes", nullptr}, {"NodeNames", {"n1", "n2"}}};
  const Json answer = s.post("/filter", kube::to_text(args));
  CHECK(answer["NodeNames"] == Json::array({"n1"}));
  CHECK(answer["Error"].get<std::string>().empty());

  const Json bind{{"PodName", names[0]},
                  {"PodNamespace", testing::kNs},
                  {"PodUID", pod["metadata"]["uid"]},
                  {"Node", "n1"}};
  CHECK(s.post("/bind", kube::to_text(bind)) == Json{{"Error", ""}});
  CHECK(s.bound_node(names[0]) == "n1");
}

TEST_CASE("a failed call is answered with an Error and status 200", "[extender][routes]") {
  struct Row {
    std::string when;
    std::string path;
    std::string body;
    std::string reason;
  };
  const std::string filter_args =
      R"({"Pod":{"metadata":{"name":"p"}},"planner::NodeNames":["n1"]})";
  const std::string bind_args = R"({"PodName":"p","PodNamespace":"rl","PodUID":"u","Node":"n1"})";
  const auto row = GENERATE_COPY(values<Row>({
      {"filter gets no JSON", "/filter", "what?", ""},
      {"bind gets no JSON", "/bind", "", ""},
      {"filter comes before the caches are synced", "/filter", filter_args, "nodes"},
      {"bind comes before the caches are synced", "/bind", bind_args, "nodes"},
      {"the pod to be bound was deleted", "/bind", bind_args, ""},
  }));
  INFO("when " << row.when);
  Server s;
  if (!row.reason.empty()) s.ready = Error{Code::kTransient, row.reason};
  CHECK_FALSE(s.post(row.path, row.body)["Error"].get<std::string>().empty());
}

TEST_CASE("a handler that throws answers with an Error and status 200", "[extender][routes]") {
  HttpServer server(server_options("127.0.0.1:0", 0));
  server.handle("/filter",
                [](const HttpRequest&) -> HttpReply { throw std::runtime_error("bug"); });
  REQUIRE(server.start().has_value());
  HttpClient client({"http://127.0.0.1:" + std::to_string(server.port())});
  const auto response = client.send("POST", "/filter", {}, "{}", "application/json");
  REQUIRE(response.has_value());
  CHECK(response->status == 200);
  CHECK((*kube::parse_json(response->body))["Error"] == "internal error");
}

TEST_CASE("a request that is too large answers with an Error that the scheduler reads",
          "[extender][routes]") {
  Server s;
  const auto response = s.call("POST", "/filter", std::string(9U << 20U, ' '));
  CHECK(response.status == 200);
  CHECK((*kube::parse_json(response.body))["Error"] == "the body is larger than 8388608 bytes");
}

TEST_CASE("calls are counted by verb and result", "[extender][routes]") {
  Server s;
  s.add_node("n1", 8);
  s.add_group("a", {a_set("learner", 1, ask(8))});
  const auto names = s.plan_and_add_pods("a");
  const Json pod = s.api.get(kube::kPods, testing::kNs, names[0]);
  s.post("/filter", kube::to_text({{"Pod", pod}, {"NodeNames", {"n1"}}}));
  s.post("/filter", kube::to_text({{"Pod", pod}, {"NodeNames", {"n2"}}}));
  s.post("/filter", "no JSON");
  s.post("/bind", "no JSON");
  const std::string text = s.metrics.text();
  INFO(text);
  const auto has = [&](const std::string& labels, int count) {
    const auto line = fmt::format("nervex_extender_requests_total{{{}}} {}\n", labels, count);
    return text.find(line) != std::string::npos;
  };
  CHECK(has(R"(result="success",verb="filter")", 1));
  CHECK(has(R"(result="refused",verb="filter")", 1));
  CHECK(has(R"(result="error",verb="filter")", 1));
  CHECK(has(R"(result="error",verb="bind")", 1));
  CHECK(has(R"(result="success",verb="bind")", 0));
}

TEST_CASE("gangs are counted by state", "[extender][metrics]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(8))}, 1);
  c.add_group("b", {a_set("learner", 1, ask(8))}, 2);
  c.see();
  Metrics metrics;
  add_gang_metrics(metrics, c.groups);
  CHECK(metrics.text().find("nervex_gangs{state=\"waiting\"} 2\n") != std::string::npos);
  c.planner.schedule_once();
  c.see();
  const std::string text = metrics.text();
  CHECK(text.find("nervex_gangs{state=\"waiting\"} 1\n") != std::string::npos);
  CHECK(text.find("nervex_gangs{state=\"planned\"} 1\n") != std::string::npos);
  CHECK(text.find("nervex_gangs{state=\"committed\"} 0\n") != std::string::npos);
}

}  // namespace
}  // namespace nervex::extender
