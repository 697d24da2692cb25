#include "server/http/request_body.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/support/counted_memory.h"

namespace nervex::server {
namespace {

std::string repeated(std::string_view piece, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += piece;
  return text;
}

}  // namespace

TEST_CASE("only known members of a body are kept", "[server][request_body]") {
  struct Row {
    std::string when;
    std::string body;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"all are known", R"({"namespace":"rl","coordinator":"c","learners":{"replicas":1}})",
       R"({"coordinator":"c","learners":{"replicas":1},"namespace":"rl"})"},
      {"unknown members hold anything", R"({"x":{"namespace":"a"},"namespace":"rl","y":[[{}]]})",
       R"({"namespace":"rl"})"},
      {"a group has unknown members", R"({"learners":{"a":{"replicas":7},"gpus":2,"b":[]}})",
       R"({"learners":{"gpus":2}})"},
      {"keys are in capitals", R"({"NAMESPACE":"rl","Learners":{"GPUs":"1"}})",
       R"({"learners":{"gpus":"1"},"namespace":"rl"})"},
      {"the exact key comes first", R"({"namespace":"rl","Namespace":"other"})",
       R"({"namespace":"rl"})"},
      {"the exact key comes last", R"({"Namespace":"other","namespace":"rl"})",
       R"({"namespace":"rl"})"},
      {"the exact key is null", R"({"Namespace":"other","namespace":null})",
       R"({"namespace":null})"},
      {"another spelling is null", R"({"Namespace":"rl","NAMESPACE":null})",
       R"({"namespace":"rl"})"},
      {"a group comes twice", R"({"learners":{"replicas":1,"gpus":1},"learners":{"replicas":2}})",
       R"({"learners":{"replicas":2}})"},
      {"a group in capitals follows the exact one",
       R"({"learners":{"replicas":1},"Learners":{"replicas":2}})",
       R"({"learners":{"replicas":1}})"},
      {"a list is longer than it may be", R"({"learners":["a","b","c","d","e"]})",
       R"({"learners":["a","b","c"]})"},
      {"values are nested where none may be",
       R"({"namespace":{"x":[1]},"learners":{"gpus":{"a":1}},"collectors":[["x"],{"a":1},3]})",
       R"({"collectors":[[],{},3],"learners":{"gpus":{}},"namespace":{}})"},
      {"members follow a group", R"({"learners":{"replicas":1},"coordinator":"c"})",
       R"({"coordinator":"c","learners":{"replicas":1}})"},
  }));
  INFO("when " << row.when);
  const auto body = parse_request_body(row.body, 2);
  REQUIRE(body);
  CHECK(kube::to_text(*body) == row.want);
}

TEST_CASE("a long text is cut but stays too long", "[server][request_body]") {
  const auto body = parse_request_body(R"({"namespace":")" + std::string(100'000, 'a') + "\"}", 2);
  REQUIRE(body);
  CHECK((*body)["namespace"].get<std::string>().size() == kMaxBodyText + 1);
}

TEST_CASE("a body takes a few times its length while it is parsed", "[server][request_body]") {
  constexpr std::size_t kBytes = 1'000'000;
  const auto [when, body] = GENERATE_COPY(values<std::pair<std::string, std::string>>({
      {"small arrays under an unknown key", R"({"x":[)" + repeated("[],", kBytes) + "1]}"},
      {"small arrays in a group", R"({"learners":[)" + repeated("[],", kBytes) + "1]}"},
      {"small objects in a group", R"({"learners":[)" + repeated("{},", kBytes) + "1]}"},
      {"names in a group", R"({"learners":[)" + repeated("\"a\",", kBytes) + "1]}"},
      {"small arrays at the top", "[" + repeated("[],", kBytes) + "1]"},
      {"members of a group", R"({"learners":{)" + repeated("\"a\":1,", kBytes) + "\"b\":1}}"},
      {"members of the body", "{" + repeated("\"A\":[],", kBytes) + "\"b\":1}"},
      {"one group again and again", "{" + repeated("\"learners\":{},", kBytes) + "\"b\":1}"},
      {"no end", R"({"x":[)" + repeated("[],", kBytes)},
      {"one long text", R"({"namespace":")" + repeated("a", kBytes) + "\"}"},
  }));
  INFO(when);
  const std::size_t bytes =
      testing::most_allocated_by([&body = body] { (void)parse_request_body(body, 5'000); });
  CHECK(bytes < 5 * kBytes);  // a document of small arrays takes 70
}

}  // namespace nervex::server
