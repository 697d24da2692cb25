// --auth=transition over real connections: may pods that were created without a token go on?
// Addresses of loopback stand for addresses of pods.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <fmt/format.h>

#include "server/http/routes.h"
#include "tests/base/raw_socket.h"
#include "tests/server/world.h"
#include "tests/support/fake_clock.h"

namespace nervex::server {
namespace {

using namespace std::chrono_literals;

constexpr const char* kCoordinator = "127.0.0.2";
constexpr const char* kOther = "127.0.0.3";  // of a plain pod

// rl/dqn-coordinator was created without a token and runs at kCoordinator, rl/plain at kOther.
// rl/theirs-coordinator belongs to another job.
struct Transition : World {
  std::unique_ptr<Authorizer> authorizer =
      authorize_by_token(api, stores, clock, Tokenless::kByAddress);
  RequestLimits limits{16};
  Metrics metrics;
  HttpServer http{server_options("127.0.0.1:0", 64)};

  Transition() {
    api.answer("tokenreviews", [](const Json&) -> Result<Json> {
      return Json{{"status", {{"authenticated", false}}}};
    });
    api.answer("subjectaccessreviews", [this](const Json&) -> Result<Json> {
      ++access_reviews;
      return Json{{"status", {{"allowed", true}}}};
    });
    set_address("dqn-coordinator", kCoordinator);
    api.add(
        kube::kPods, "rl",
        {{"metadata", {{"name", "plain"}}}, {"status", {{"phase", "Running"}, {"podIP", kOther}}}});
    add_theirs();
    sync();
    add_routes(
        http, replicas, *authorizer, limits, [] { return ok(); }, metrics);
    REQUIRE(http.start());
  }

  void set_address(const std::string& pod, const std::string& address) {
    api.change(kube::kPods, "rl", pod, {{"status", {{"podIP", address}}}});
  }
  void change_coordinator(const Json& patch) {
    api.change(kube::kPods, "rl", "dqn-coordinator", patch);
  }

  // The reply to a GET, or to a request for a collector, on behalf of this pod.
  std::string call(const std::string& from, const std::string& method,
                   const std::string& coordinator, const std::string& headers = "") {
    test::RawSocket socket = test::RawSocket::connect_to(http.port(), from);
    REQUIRE(socket.is_open());
    const bool is_get = method == "GET";
    const std::string body = is_get ? ""
                                    : kube::to_text({{"namespace", "rl"},
                                                     {"coordinator", coordinator},
                                                     {"collectors", {{"replicas", 1}}}});
    const std::string query = is_get ? "?namespace=rl&coordinator=" + coordinator : "";
    socket.send(
        fmt::format("{} /v1alpha1/replicas{} HTTP/1.1\r\nHost: s\r\n{}Content-Length: "
                    "{}\r\nConnection: close\r\n\r\n{}",
                    method, query, headers, body.size(), body));
    return socket.receive_all();
  }
  int status(const std::string& from, const std::string& method, const std::string& coordinator,
             const std::string& headers = "") {
    return test::reply_status(call(from, method, coordinator, headers));
  }

  int access_reviews = 0;

 private:
  void add_theirs() {
    Json job = api.get(kube::kNervexJobs, "rl", "dqn");
    job["metadata"] = {{"name", "theirs"}};
    const Json stored = api.add(kube::kNervexJobs, "rl", job);
    api.add(kube::kPods, "rl",
            {{"metadata",
              {{"name", "theirs-coordinator"},
               {"labels", {{job::kGroupLabel, job::kGroupLabelValue}}},
               {"ownerReferences", Json::array({{{"apiVersion", job::kApiVersion},
                                                 {"kind", job::kKind},
                                                 {"name", "theirs"},
                                                 {"uid", stored["metadata"]["uid"]},
                                                 {"controller", true}}})}}},
             {"status", {{"phase", "Running"}, {"podIP", "10.9.9.9"}}}});
  }
};

}  // namespace

TEST_CASE("during the transition a pod without a token may use its own job",
          "[server][auth][transition]") {
  Transition world;
  CHECK(world.status(kCoordinator, "GET", "dqn-coordinator") == 200);
  CHECK(world.status(kCoordinator, "POST", "dqn-coordinator") == 200);
  CHECK_FALSE(world.requests_now().is_null());
  CHECK(world.access_reviews == 0);
}

TEST_CASE("during the transition no other caller without a token is served",
          "[server][auth][transition]") {
  Transition world;
  const std::string forwarded =
      fmt::format("X-Forwarded-For: {}\r\nForwarded: for={}\r\n", kCoordinator, kCoordinator);
  struct Row {
    std::string when, from, coordinator, headers;
    int want;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"a pod names another job", kCoordinator, "theirs-coordinator", "", 403},
      {"a plain pod calls", kOther, "dqn-coordinator", "", 401},
      {"a plain pod is forwarded for the coordinator", kOther, "dqn-coordinator", forwarded, 401},
      {"a bad token comes from the coordinator", kCoordinator, "dqn-coordinator",
       "Authorization: Bearer x\r\n", 401},
      {"another scheme comes from the coordinator", kCoordinator, "dqn-coordinator",
       "Authorization: Basic eDp5\r\n", 401},
  }));
  INFO("when " << row.when);
  CHECK(world.status(row.from, "POST", row.coordinator, row.headers) == row.want);
  CHECK(world.status(row.from, "GET", row.coordinator, row.headers) == row.want);
  CHECK(world.requests_now().is_null());
  CHECK(world.access_reviews == 0);  // an address has no rights but its pod's
}

TEST_CASE("an address of no pod may be tried again", "[server][auth][transition]") {
  Transition world;
  const std::string reply = world.call("127.0.0.4", "POST", "dqn-coordinator");
  CHECK(test::reply_status(reply) == 200);
  CHECK(reply.find(R"("success":false)") != std::string::npos);
  world.set_address("dqn-coordinator", "127.0.0.4");
  world.clock.advance(2s);
  world.sync();
  CHECK(world.call("127.0.0.4", "POST", "dqn-coordinator").find(R"("success":true)") !=
        std::string::npos);
}

TEST_CASE("a pod that has a token or shares its node's network is refused without one",
          "[server][auth][transition]") {
  Transition world;
  const Json patch =
      GENERATE(Json{{"spec", {{"hostNetwork", true}}}},
               Json::parse(R"({"spec":{"volumes":[{"name":"t","projected":{"sources":[
        {"serviceAccountToken":{"audience":"nervex-server","path":"token"}}]}}]}})"));
  world.change_coordinator(patch);
  world.sync();
  CHECK(world.status(kCoordinator, "POST", "dqn-coordinator") == 401);
  CHECK(world.requests_now().is_null());
}

TEST_CASE("a pod that is being deleted or shares its address may try again",
          "[server][auth][transition]") {
  Transition world;
  const bool is_shared = GENERATE(true, false);
  if (is_shared) {
    world.set_address("plain", kCoordinator);
  } else {
    world.change_coordinator({{"metadata", {{"deletionTimestamp", "2026-11-21T14:00:00Z"}}}});
  }
  world.sync();
  const std::string reply = world.call(kCoordinator, "POST", "dqn-coordinator");
  CHECK(test::reply_status(reply) == 200);  // 401 would end a client of 2021 for good
  CHECK(reply.find(R"("success":false)") != std::string::npos);
  CHECK(world.requests_now().is_null());
}

TEST_CASE("an address is not believed to be that of a pod which has left it",
          "[server][auth][transition]") {
  Transition world;
  REQUIRE(world.status(kCoordinator, "GET", "dqn-coordinator") == 200);
  const bool is_deleted = GENERATE(true, false);
  if (is_deleted) {
    world.api.remove(kube::kPods, "rl", "dqn-coordinator");
  } else {
    world.change_coordinator({{"status", {{"phase", "Failed"}}}});
  }
  world.set_address("theirs-coordinator", kCoordinator);  // while it is believed to be dqn's
  world.sync();
  CHECK(world.status(kCoordinator, "GET", "dqn-coordinator") != 200);
}

TEST_CASE("a pod without a token that polls costs one list of pods in five minutes",
          "[server][auth][transition]") {
  Transition world;
  const int before = world.api.requests();
  for (int i = 0; i < 10; ++i) CHECK(world.status(kCoordinator, "GET", "dqn-coordinator") == 200);
  CHECK(world.api.requests() - before == 1);
  world.clock.advance(299s);
  CHECK(world.status(kCoordinator, "GET", "dqn-coordinator") == 200);
  CHECK(world.api.requests() - before == 1);
  world.clock.advance(2s);
  CHECK(world.status(kCoordinator, "GET", "dqn-coordinator") == 200);
  CHECK(world.api.requests() - before == 2);
}

TEST_CASE("a pod of no job that polls costs one list of pods in ten seconds",
          "[server][auth][transition]") {
  Transition world;
  const int before = world.api.requests();
  for (int i = 0; i < 10; ++i) CHECK(world.status(kOther, "GET", "dqn-coordinator") == 401);
  CHECK(world.api.requests() - before == 1);
}

}  // namespace nervex::server
