#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/extender_api.h"
#include "kube/model/json.h"
#include "tests/support/golden.h"

namespace nervex::kube {
namespace {

TEST_CASE("filter arguments are Go's names around an ordinary pod", "[kube][extender_api]") {
  const std::string body = R"({"Pod":)" + testing::golden("kube/pod_running.json") +
                           R"(,"Nodes":null,"NodeNames":["n1","n2"]})";
  PodFilter filter;
  filter.annotation_keys = {"nervex.sensetime.com/slot"};
  const auto args = decode_filter_args(body, filter);
  REQUIRE(args);
  CHECK(args->node_names == std::vector<std::string>{"n1", "n2"});
  CHECK(args->pod.meta.name == "dqn-learner-x2b7k");
  CHECK(annotation(args->pod.meta, "nervex.sensetime.com/slot") == "learner/0");
  CHECK(args->pod.requests.get("nvidia.com/gpu") == 8);
}

TEST_CASE("absent pointers arrive as null", "[kube][extender_api]") {
  const auto args =
      decode_filter_args(R"({"NodeNames":null,"Nodes":null,"Pod":{"metadata":{"name":"p"}}})", {});
  REQUIRE(args);
  CHECK(args->node_names.empty());
  CHECK(args->pod.meta.name == "p");
}

TEST_CASE("filter arguments that cannot be used are refused", "[kube][extender_api]") {
  const auto* const body = GENERATE(
      "", "{}", "null", "[]", R"({"Pod":null,"NodeNames":["n"]})", R"({"Pod":{"metadata":{}}})",
      R"({"Pod":{"metadata":{"name":"p"}},"Nodes":{"items":[]},"NodeNames":null})",
      R"({"Pod":{"metadata":{"name":"p"}},"NodeNames":["n")");
  INFO(body);
  const auto args = decode_filter_args(body, {});
  REQUIRE_FALSE(args);
  CHECK(args.error().code == Code::kInvalid);
}

TEST_CASE("bind arguments", "[kube][extender_api]") {
  const auto args =
      decode_bind_args(R"({"PodName":"p","PodNamespace":"a","PodUID":"u","Node":"n1"})");
  REQUIRE(args);
  CHECK(*args == BindArgs{"p", "a", "u", "n1"});
  const auto* const bad = GENERATE("", "{}", R"({"PodName":"p","PodNamespace":"a","PodUID":"u"})",
                                   R"({"PodName":null,"PodNamespace":"a","Node":"n"})");
  CHECK_FALSE(decode_bind_args(bad));
}

TEST_CASE("replies always have every key, and lists are never null", "[kube][extender_api]") {
  CHECK(*parse_json(encode_filter_result({})) ==
        *parse_json(
            R"({"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""})"));
  FilterResult waits;
  waits.node_names = {"n1"};
  waits.failed_and_unresolvable.emplace_back("n2", "the gang \"g\" waits");
  waits.error = "not synced";
  CHECK(*parse_json(encode_filter_result(waits)) ==
        *parse_json(R"({"NodeNames":["n1"],"FailedNodes":{},
            "FailedAndUnresolvableNodes":{"n2":"the gang \"g\" waits"},"Error":"not synced"})"));
  CHECK(encode_bind_result("") == R"({"Error":""})");
  CHECK(encode_bind_result("taken \xff") == "{\"Error\":\"taken \xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace nervex::kube
