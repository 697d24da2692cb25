#include "server/http/envelope.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::server {

TEST_CASE("an answer has its fields in the contract's order", "[server][envelope][golden]") {
  const Listing job{"default", "j1-coordinator", {"j1-collector-x2b7k.default:80"}, {}};
  CHECK(success("replicas added", job).body ==
        R"({"success":true,"code":0,"message":"replicas added","data":)"
        R"({"namespace":"default","coordinator":"j1-coordinator",)"
        R"("collectors":["j1-collector-x2b7k.default:80"],"learners":[]}})");
  CHECK(success("replicas listed", std::vector<Listing>{}).body ==
        R"({"success":true,"code":0,"message":"replicas listed","data":[]})");
  CHECK(
      success("replicas listed", std::vector<Listing>{job, {"b", "j2-coordinator", {}, {}}}).body ==
      R"({"success":true,"code":0,"message":"replicas listed","data":[)"
      R"({"namespace":"default","coordinator":"j1-coordinator",)"
      R"("collectors":["j1-collector-x2b7k.default:80"],"learners":[]},)"
      R"({"namespace":"b","coordinator":"j2-coordinator","collectors":[],"learners":[]}]})");
  CHECK(failure({Code::kNotFound, "no such pod"}).body ==
        R"({"success":false,"code":1,"message":"no such pod","data":null})");
}

TEST_CASE("the HTTP status says whether to retry", "[server][envelope]") {
  struct Row {
    Code code;
    int status;
  };
  const auto row = GENERATE(values<Row>({{Code::kInvalid, 400},
                                         {Code::kForbidden, 403},
                                         {Code::kUnauthorized, 200},
                                         {Code::kNotFound, 404},
                                         {Code::kConflict, 409},
                                         {Code::kTransient, 200},
                                         {Code::kExpired, 200},
                                         {Code::kInternal, 200}}));
  INFO(to_string(row.code));
  CHECK(failure({row.code, "why"}).status == row.status);
}

TEST_CASE("a method that is not there answers 501 in the envelope", "[server][envelope]") {
  const HttpReply reply = not_implemented("PATCH is not supported", "GET, POST");
  CHECK(reply.status == 501);
  CHECK(reply.headers.at("Allow") == "GET, POST");
  CHECK(reply.body ==
        R"({"success":false,"code":1,"message":"PATCH is not supported","data":null})");
  CHECK(reply.content_type == "application/json");
}

TEST_CASE("refusals of the HTTP server have the envelope, and transient ones can be retried",
          "[server][envelope]") {
  const HttpReply large = refusal(413, "the body is too large");
  CHECK(large.status == 413);
  CHECK(large.content_type == "application/json");
  CHECK(large.body ==
        R"({"success":false,"code":1,"message":"the body is too large","data":null})");
  CHECK(refusal(503, "too many connections").status == 200);
}

TEST_CASE("bytes that are not UTF-8 in a message do no harm", "[server][envelope]") {
  CHECK(failure({Code::kInvalid, "key \xff"}).body.find("\xEF\xBF\xBD") != std::string::npos);
}

TEST_CASE("a reply does not reveal requests to the API server", "[server][envelope]") {
  struct Row {
    std::string message;
    std::string shown;
  };
  const auto row = GENERATE(values<Row>({
      {"pod rl/c: GET /apis/nervex.sensetime.com/v1alpha1/namespaces/rl/nervexjobs/x: 500: away",
       "pod rl/c: 500: away"},
      {"cannot authenticate the caller: POST /apis/authentication.k8s.io/v1/tokenreviews: timed "
       "out",
       "cannot authenticate the caller: timed out"},
      {"PATCH /a: GET /b: 409", "409"},
      {"DELETE /a", ""},
      {"use GET, POST or DELETE", "use GET, POST or DELETE"},
  }));
  INFO(row.message);
  CHECK(without_api_paths(row.message) == row.shown);
}

}  // namespace nervex::server
