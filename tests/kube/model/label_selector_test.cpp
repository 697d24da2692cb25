#include "kube/model/label_selector.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::kube {
namespace {

TEST_CASE("a label selector matches when all its requirements hold", "[kube][selector]") {
  struct Row {
    std::string when;
    std::string selector;
    bool matches;
  };
  const auto row = GENERATE(values<Row>({
      {"it is empty", R"({})", true},
      {"a label has the value", R"({"matchLabels":{"team":"vision"}})", true},
      {"a label has another value", R"({"matchLabels":{"team":"speech"}})", false},
      {"a label is absent", R"({"matchLabels":{"stage":"prod"}})", false},
      {"one of two labels differs", R"({"matchLabels":{"team":"vision","tier":"b"}})", false},
      {"In, listed",
       R"({"matchExpressions":[{"key":"team","operator":"In","values":["nlp","vision"]}]})", true},
      {"In, absent", R"({"matchExpressions":[{"key":"x","operator":"In","values":["1"]}]})", false},
      {"NotIn, listed",
       R"({"matchExpressions":[{"key":"team","operator":"NotIn","values":["vision"]}]})", false},
      {"NotIn, absent", R"({"matchExpressions":[{"key":"x","operator":"NotIn","values":["1"]}]})",
       true},
      {"Exists", R"({"matchExpressions":[{"key":"team","operator":"Exists"}]})", true},
      {"DoesNotExist", R"({"matchExpressions":[{"key":"team","operator":"DoesNotExist"}]})", false},
      {"labels match, an expression does not",
       R"({"matchLabels":{"team":"vision"},"matchExpressions":[{"key":"x","operator":"Exists"}]})",
       false},
  }));
  INFO(row.when);
  const auto selector = decode_label_selector(*parse_json(row.selector));
  REQUIRE(selector);
  CHECK(matches(*selector, {{"team", "vision"}, {"tier", "a"}}) == row.matches);
}

TEST_CASE("a wrong label selector is refused with its field", "[kube][selector]") {
  struct Row {
    std::string selector;
    std::string error;
  };
  const auto row = GENERATE(values<Row>({
      {R"([])", "must be an object"},
      {R"({"matchLabels":[]})", "matchLabels: must be an object"},
      {R"({"matchLabels":{"a":1}})", "matchLabels.a: must be a string"},
      {R"({"matchExpressions":[{"operator":"Exists"}]})", "matchExpressions[0].key: is required"},
      {R"({"matchExpressions":[{"key":"a","operator":"Is"}]})",
       "matchExpressions[0].operator: must be In, NotIn, Exists or DoesNotExist"},
      {R"({"matchExpressions":[{"key":"a","operator":"In"}]})",
       "matchExpressions[0].values: is required for In and NotIn"},
      {R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["1"]}]})",
       "matchExpressions[0].values: must be empty for Exists and DoesNotExist"},
      {R"({"matchExpressions":[{"key":"a","operator":"In","values":[1]}]})",
       "matchExpressions[0].values: must be strings"},
  }));
  INFO(row.selector);
  const auto selector = decode_label_selector(*parse_json(row.selector));
  REQUIRE_FALSE(selector);
  CHECK(selector.error().message == row.error);
}

}  // namespace
}  // namespace nervex::kube
