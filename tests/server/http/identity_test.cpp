#include "server/http/identity.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::server {
namespace {

Json review_of_a_pod() {  // as kube-apiserver 1.36 answers for a projected token
  return Json::parse(R"({"status":{"authenticated":true,"audiences":["nervex-server"],"user":{
    "username":"system:serviceaccount:rl:default","uid":"u-1",
    "groups":["system:serviceaccounts","system:serviceaccounts:rl","system:authenticated"],
    "extra":{"authentication.kubernetes.io/pod-name":["dqn-coordinator"],
             "authentication.kubernetes.io/pod-uid":["p-1"],
             "authentication.kubernetes.io/credential-id":["JTI=1"]}}}})");
}

TEST_CASE("a bearer token is read from its header, with the scheme in any case", "[server][auth]") {
  struct Row {
    std::string when;
    RequestHeaders headers;
    std::string want;  // empty: denied
  };
  const auto row = GENERATE(values<Row>({
      {"it is sent as usual", {{"authorization", "Bearer abc.d"}}, "abc.d"},
      {"the scheme is in lower case", {{"authorization", "bearer abc"}}, "abc"},
      {"there is more space than needed", {{"authorization", "Bearer   abc "}}, "abc"},
      {"there is no header", {}, ""},
      {"the scheme is another", {{"authorization", "Basic YTpi"}}, ""},
      {"the token is missing", {{"authorization", "Bearer "}}, ""},
      {"the token is blank", {{"authorization", "Bearer    "}}, ""},
      {"the header is empty", {{"authorization", ""}}, ""},
  }));
  INFO("when " << row.when);
  const auto token = bearer_token(row.headers);
  REQUIRE(token.has_value() == !row.want.empty());
  if (token) CHECK(*token == row.want);
  if (!token) CHECK(token.error().code == Code::kUnauthorized);
}

TEST_CASE("a review asks for the audience of this server", "[server][auth]") {
  const Json review = token_review("abc");
  CHECK(review["spec"] == Json{{"token", "abc"}, {"audiences", {"nervex-server"}}});
}

TEST_CASE("a projected token tells which pod holds it", "[server][auth]") {
  const auto who = identity_in(review_of_a_pod());
  REQUIRE(who);
  CHECK(who->is_pod());
  CHECK(who->pod_ns == "rl");
  CHECK(who->pod_name == "dqn-coordinator");
  CHECK(who->pod_uid == "p-1");
}

TEST_CASE("a user's token names no pod", "[server][auth]") {
  const auto who = identity_in(Json::parse(
      R"({"status":{"authenticated":true,"audiences":["nervex-server"],"user":{"username":"jane"}}})"));
  REQUIRE(who);
  CHECK(who->user == "jane");
  CHECK_FALSE(who->is_pod());
  CHECK(who->pod_ns.empty());
}

TEST_CASE("a token for another audience or without authentication is denied", "[server][auth]") {
  struct Row {
    std::string when;
    Json patch;
  };
  const auto row = GENERATE(values<Row>({
      {"it is not authenticated", {{"status", {{"authenticated", false}, {"error", "expired"}}}}},
      {"nothing is said", {{"status", nullptr}}},
      {"it is for the API server", {{"status", {{"audiences", {"kubernetes"}}}}}},
      {"the authenticator knows no audiences", {{"status", {{"audiences", nullptr}}}}},
  }));
  INFO("when " << row.when);
  Json review = review_of_a_pod();
  review.merge_patch(row.patch);
  const auto who = identity_in(review);
  REQUIRE_FALSE(who);
  CHECK(who.error().code == Code::kUnauthorized);
}

TEST_CASE("an access review contains all attributes of the user", "[server][auth]") {
  const auto who = identity_in(review_of_a_pod());
  REQUIRE(who);
  const Json spec = subject_access_review(*who, {"patch", "rl", "dqn"})["spec"];
  CHECK(spec["user"] == "system:serviceaccount:rl:default");
  CHECK(spec["uid"] == "u-1");
  CHECK(spec["groups"].size() == 3);
  CHECK(spec["extra"] == who->extra);
  CHECK(spec["resourceAttributes"] == Json{{"group", "nervex.sensetime.com"},
                                           {"version", "v1alpha1"},
                                           {"resource", "nervexjobs"},
                                           {"verb", "patch"},
                                           {"namespace", "rl"},
                                           {"name", "dqn"}});
}

TEST_CASE("only an explicit \"allowed\" is accepted", "[server][auth]") {
  CHECK(is_allowed(Json::parse(R"({"status":{"allowed":true}})")));
  CHECK_FALSE(is_allowed(Json::parse(R"({"status":{"allowed":true,"denied":true}})")));
  CHECK_FALSE(is_allowed(Json::parse(R"({"status":{"allowed":false}})")));
  CHECK_FALSE(is_allowed(Json::parse(R"({"status":{"allowed":"true"}})")));
  CHECK_FALSE(is_allowed(Json()));
}

}  // namespace
}  // namespace nervex::server
