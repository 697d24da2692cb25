#include "server/http/authorizer.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "server/http/routes.h"
#include "tests/server/world.h"
#include "tests/support/fake_clock.h"

namespace nervex::server {
namespace {

using namespace std::chrono_literals;

RequestHeaders bearing(const std::string& token) { return {{"authorization", "Bearer " + token}}; }

// The job rl/dqn, a second one rl/other, and an API server that knows these tokens: "pod" of dqn's
// coordinator, "stray" of a pod of no job, "gone" of a pod that was replaced by a namesake, "jane"
// who may patch and "joe" who may not.
struct Guarded : World {
  int reviews = 0;
  int access_reviews = 0;
  RequestLimits limits{1};
  std::unique_ptr<Authorizer> authorizer = authorize_by_token(api, stores, clock);

  Guarded() {
    api.answer("tokenreviews", [this](const Json& body) { return review(body); });
    api.answer("subjectaccessreviews", [this](const Json& body) -> Result<Json> {
      ++access_reviews;
      asked = body["spec"]["resourceAttributes"];
      return Json{{"status", {{"allowed", body["spec"]["user"] == "jane"}}}};
    });
    const Json stray = api.add(kube::kPods, "rl", {{"metadata", {{"name", "stray"}}}});
    uids["stray"] = stray["metadata"]["uid"];
    uids["dqn-coordinator"] = api.get(kube::kPods, "rl", "dqn-coordinator")["metadata"]["uid"];
    sync();
  }

  Result<Json> review(const Json& body) {
    ++reviews;
    const std::string token = body["spec"]["token"];
    Json status = {{"authenticated", token != "forged"}, {"audiences", {"nervex-server"}}};
    Json& user = status["user"];
    user = {{"username", token}};
    if (token == "pod" || token == "stray" || token == "gone") {
      const std::string pod = token == "stray" ? "stray" : "dqn-coordinator";
      user = {{"username", "system:serviceaccount:rl:default"},
              {"extra",
               {{"authentication.kubernetes.io/pod-name", {pod}},
                {"authentication.kubernetes.io/pod-uid",
                 {token == "gone" ? Json("uid-of-old") : uids[pod]}}}}};
    }
    return Json{{"status", status}};
  }

  // The HTTP status of a request with this token ("" for none).
  int status(const std::string& method, const std::string& token, const std::string& coordinator) {
    HttpRequest request;
    const bool is_failed = method == "failed";
    request.method = is_failed ? "POST" : method;
    if (!token.empty()) request.headers = bearing(token);
    if (method == "GET" && !coordinator.empty()) {
      request.query = {{"namespace", "rl"}, {"coordinator", coordinator}};
    }
    if (method != "GET") {
      request.body =
          kube::to_text({{"namespace", "rl"},
                         {"coordinator", coordinator},
                         {"collectors", is_failed ? Json::array() : Json{{"replicas", 1}}}});
    }
    return (is_failed ? answer_failed : answer_replicas)(replicas, *authorizer, limits, request)
        .status;
  }

  std::map<std::string, Json> uids;  // of pods, by name
  Json asked;                        // of the last access review
};

}  // namespace

TEST_CASE("with --auth=token a caller may do what it should and nothing else", "[server][auth]") {
  struct Row {
    std::string when;
    std::string method, token, coordinator;
    int want;
  };
  const auto row = GENERATE(values<Row>({
      {"a pod asks for its own job", "POST", "pod", "dqn-coordinator", 200},
      {"a pod lists its own job", "GET", "pod", "dqn-coordinator", 200},
      {"a pod removes from its own job", "DELETE", "pod", "dqn-coordinator", 200},
      {"a pod removes from a job that is not its own", "DELETE", "pod", "someone-else", 403},
      {"a person without the right removes", "DELETE", "joe", "dqn-coordinator", 403},
      {"a pod asks for a job that is not its own", "POST", "pod", "someone-else", 403},
      {"a pod lists everything", "GET", "pod", "", 403},
      {"a pod of no job asks", "POST", "stray", "dqn-coordinator", 403},
      {"the token is of a pod's dead namesake", "POST", "gone", "dqn-coordinator", 403},
      {"a pod replaces some of its own job", "failed", "pod", "dqn-coordinator", 200},
      {"a pod replaces some of a job that is not its own", "failed", "pod", "someone-else", 403},
      {"there is no token on a replacement", "failed", "", "dqn-coordinator", 401},
      {"a person with the right asks", "POST", "jane", "dqn-coordinator", 200},
      {"a person with the right lists all", "GET", "jane", "", 200},
      {"a person with the right names nobody", "POST", "jane", "nobody", 404},
      {"a person without the right asks", "POST", "joe", "dqn-coordinator", 403},
      {"the token is forged", "POST", "forged", "dqn-coordinator", 401},
      {"there is no token", "POST", "", "dqn-coordinator", 401},
      {"there is no token on a list", "GET", "", "dqn-coordinator", 401},
  }));
  INFO("when " << row.when);
  Guarded world;
  CHECK(world.status(row.method, row.token, row.coordinator) == row.want);
  const bool grew = row.method == "POST" && row.want == 200;
  CHECK(world.requests_now().is_null() == !grew);
}

TEST_CASE("without --auth=token all callers may do everything, without a review",
          "[server][auth]") {
  Guarded world;
  world.authorizer = allow_all();
  const std::string token = GENERATE("", "forged", "joe");
  CHECK(world.status("GET", token, "") == 200);
  CHECK(world.status("POST", token, "dqn-coordinator") == 200);
  CHECK(world.reviews + world.access_reviews == 0);
}

TEST_CASE("a user's right is checked on the job of the named pod", "[server][auth]") {
  Guarded world;
  world.status("POST", "jane", "dqn-coordinator");
  CHECK(world.asked["verb"] == "patch");
  CHECK(world.asked["name"] == "dqn");
  world.status("GET", "jane", "dqn-coordinator");
  CHECK(world.asked["verb"] == "get");
  world.status("GET", "jane", "");
  CHECK(world.asked["verb"] == "list");
  CHECK(world.asked["namespace"] == Json(""));
}

TEST_CASE("a pod that polls its own job costs no call but one review in ten seconds",
          "[server][auth]") {
  Guarded world;
  for (int i = 0; i < 5; ++i) world.status("GET", "pod", "dqn-coordinator");
  CHECK(world.reviews == 1);
  CHECK(world.access_reviews == 0);
  world.clock.advance(11s);
  world.status("GET", "pod", "dqn-coordinator");
  CHECK(world.reviews == 2);
}

TEST_CASE("a forged token is reviewed only once", "[server][auth]") {
  Guarded world;
  for (int i = 0; i < 5; ++i)
    CHECK_FALSE(world.authorizer->identify(bearing("forged"), "10.0.0.1"));
  CHECK(world.reviews == 1);
}

TEST_CASE("a failed check is a transient error", "[server][auth]") {
  Guarded world;
  const auto code = GENERATE(Code::kTransient, Code::kForbidden, Code::kInternal);
  SECTION("the token") {
    world.api.answer("tokenreviews", [code](const Json&) { return Error{code, "away"}; });
    const auto who = world.authorizer->identify(bearing("pod"), "10.0.0.1");
    REQUIRE_FALSE(who);
    CHECK(who.error().code == Code::kTransient);
    CHECK(world.status("POST", "pod", "dqn-coordinator") == 200);  // success:false
    CHECK(world.requests_now().is_null());
  }
  SECTION("the right") {
    world.api.answer("subjectaccessreviews", [code](const Json&) { return Error{code, "away"}; });
    CHECK(world.status("POST", "jane", "dqn-coordinator") == 200);
    CHECK(world.requests_now().is_null());
  }
}

TEST_CASE("a pod that the cache does not know yet is looked up", "[server][auth]") {
  Guarded world;
  for (const auto& key : world.stores.pods.keys()) world.stores.pods.erase(key);
  CHECK(world.status("POST", "pod", "dqn-coordinator") == 200);
}

TEST_CASE("a caller at its limit of concurrent requests is told to retry", "[server][auth]") {
  Guarded world;
  const auto under_way = world.limits.under_way.begin("jane");
  CHECK(world.status("POST", "jane", "dqn-coordinator") == 200);  // success:false
  CHECK(world.requests_now().is_null());
  CHECK(world.status("POST", "pod", "dqn-coordinator") == 200);  // another caller
  CHECK_FALSE(world.requests_now().is_null());
}

TEST_CASE("one address cannot have any number of tokens reviewed at once", "[server][auth]") {
  // Each review leads to the next, as if all had come at once.
  class NestedReviews final : public kube::Api {
   public:
    Result<std::string> send(const kube::ApiRequest&) override {
      most = std::max(most, ++depth);
      if (depth < 100) {
        (void)authorizer->identify(bearing("forged-" + std::to_string(depth)), "10.0.0.1");
      }
      --depth;
      return std::string(R"({"status":{"authenticated":false}})");
    }
    Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                           std::stop_token) override {
      return ok();
    }

    std::unique_ptr<Authorizer> authorizer;
    int depth = 0;
    int most = 0;
  };
  NestedReviews api;
  const Stores stores;
  const testing::FakeClock clock;
  api.authorizer = authorize_by_token(api, stores, clock);
  (void)api.authorizer->identify(bearing("forged"), "10.0.0.1");
  CHECK(api.most == 8);
}

TEST_CASE("an owner's name cannot change the API path", "[server][auth]") {
  Guarded world;
  for (const std::string name : {"../..", "..", "a/../b", "%2e%2e", "x?watch=1"}) {
    INFO(name);
    world.api.add(kube::kPods, "rl",
                  {{"metadata",
                    {{"name", "evil"},
                     {"ownerReferences",
                      {{{"apiVersion", job::kApiVersion},
                        {"kind", job::kKind},
                        {"name", name},
                        {"uid", "uid-evil"},
                        {"controller", true}}}}}}});
    const int before = world.api.requests();
    HttpRequest request;
    request.method = "GET";
    request.headers = bearing("jane");
    request.query = {{"namespace", "rl"}, {"coordinator", "evil"}};
    const HttpReply reply =
        answer_replicas(world.replicas, *world.authorizer, world.limits, request);
    CHECK(reply.status == 404);
    CHECK(reply.body.find("/api") == std::string::npos);
    CHECK(world.api.requests() - before == 4);  // two of the caller, the pod twice: no job
    world.api.remove(kube::kPods, "rl", "evil");
    world.clock.advance(1min);
  }
}

}  // namespace nervex::server
