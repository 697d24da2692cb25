#include "cli/failure.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::cli {
namespace {

TEST_CASE("a failed call says what the user can do", "[cli][failure]") {
  struct Row {
    std::string when;
    Error error;
    std::string part;  // of the suggestion; "": none
  };
  const auto row = GENERATE(values<Row>({
      {"a read is refused in a namespace",
       {Code::kForbidden,
        "GET /x: 403 nervexjobs.nervex.sensetime.com is forbidden: User \"ann\" "
        "cannot list resource \"nervexjobs\" in API group "
        "\"nervex.sensetime.com\" in the namespace \"rl\""},
       "you may not list nervexjobs.nervex.sensetime.com in namespace rl: choose another one with "
       "-n, or ask for the role view"},
      {"a write is refused in a namespace",
       {Code::kForbidden,
        "User \"ann\" cannot create resource \"nervexjobs\" in API group "
        "\"nervex.sensetime.com\" in the namespace \"rl\""},
       "or ask for the role edit (kubectl -n rl create rolebinding NAME --clusterrole=edit "
       "--user=ann"},
      {"a read of all namespaces is refused",
       {Code::kForbidden,
        "User \"ann\" cannot list resource \"nodes\" in API group \"\" at the "
        "cluster scope"},
       "you may not list nodes in the whole cluster: name a namespace with -n"},
      {"admission refused it", {Code::kForbidden, "403 exceeded quota"}, ""},
      {"the credentials are not accepted",
       {Code::kUnauthorized, "GET /x: 401 Unauthorized"},
       "log in again"},
      {"the job does not exist",
       {Code::kNotFound, "404 nervexjobs.nervex.sensetime.com \"x\" not found"},
       "kubectl nervex list shows the jobs"},
      {"the namespace does not exist",
       {Code::kNotFound, "404 namespaces \"x\" not found"},
       "kubectl get namespaces"},
      {"the kind does not exist",
       {Code::kNotFound, "404 the server could not find the requested resource"},
       "kubectl nervex doctor"},
      {"the API server is away", {Code::kTransient, "connection refused"}, "kubectl cluster-info"},
      {"the name is taken",
       {Code::kConflict, "409 nervexjobs.nervex.sensetime.com \"x\" already exists"},
       "kubectl nervex delete NAME"},
      {"the object is wrong", {Code::kInvalid, "422"}, ""},
  }));
  INFO("when " << row.when);
  const std::string text = suggest(row.error);
  INFO(text);
  CHECK(text.empty() == row.part.empty());
  CHECK(text.find(row.part) != std::string::npos);
}

}  // namespace
}  // namespace nervex::cli
