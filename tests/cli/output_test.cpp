#include "cli/output.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "cli/validate/manifests.h"

namespace nervex::cli {
namespace {

TEST_CASE("YAML output is read back as the same value", "[cli][output]") {
  const Json value = GENERATE(
      Json{{"name", "dqn"}, {"ready", 3}, {"share", 0.5}, {"none", nullptr}, {"yes", true}},
      Json{{"items", Json::array({{{"a", 1}, {"b", "x"}}, {{"a", 2}}})}},
      Json{{"lists", Json::array({Json::array({1, 2}), Json::array({Json::object()})})}},
      Json{{"deep", {{"er", {{"list", Json::array({"a", "b"})}}}}}},
      Json{{"empty", Json::array()}, {"object", Json::object()}, {"text", ""}},
      Json{{"no", "no"}, {"number", "0x10"}, {"time", "2026-11-21T14:03:12Z"}, {"tilde", "~"}},
      Json{{"text", "a: b # c\nsecond \"line\" \xC3\xA4"}, {"dash", "- a"}, {"star", "*a"}});
  const std::string text = to_yaml(value);
  INFO(text);
  const auto read = parse_manifests(text);
  REQUIRE(read);
  REQUIRE(read->size() == 1);
  CHECK(read->front().object == value);
}

TEST_CASE("YAML output looks as kubectl's", "[cli][output]") {
  const Json value = {{"kind", "JobList"},
                      {"items", Json::array({{{"name", "dqn"}, {"tags", Json::array({"a"})}}})}};
  CHECK(to_yaml(value) ==
        "items:\n"
        "- name: dqn\n"
        "  tags:\n"
        "  - a\n"
        "kind: JobList\n");
}

TEST_CASE("JSON and YAML have control characters and direction marks as escapes", "[cli][output]") {
  const Json value = {{"k\xC2\x9B",
                       "csi \xC2\x9B"
                       "31m del \x7F esc \x1b nel \xC2\x85 \xC3\xA4"},
                      {"bidi", "\xE2\x80\xAE \xE2\x81\xA6 \xD8\x9C \xE2\x80\x8E \xE2\x80\xA8"}};
  const Output output = GENERATE(Output::kJson, Output::kYaml);
  const std::string text = serialize(value, output);
  INFO(text);
  for (const char* escape :
       {"k\\u009b", "csi \\u009b31m del \\u007f esc \\u001b nel \\u0085 \xC3\xA4",
        "\\u202e \\u2066 \\u061c \\u200e \\u2028"}) {
    CHECK(text.find(escape) != std::string::npos);
  }
  const auto read = parse_manifests(text);
  REQUIRE(read);
  CHECK(read->front().object == value);
  if (output == Output::kJson) CHECK(Json::parse(serialize_line(value, output)) == value);
  CHECK(serialize_line(value, Output::kJson).find('\x7F') == std::string::npos);
}

TEST_CASE("JSON output has a version", "[cli][output]") {
  const Json job = versioned("Job", {{"name", "dqn"}});
  CHECK(job ==
        Json{{"apiVersion", "cli.nervex.sensetime.com/v1"}, {"kind", "Job"}, {"name", "dqn"}});
}

}  // namespace
}  // namespace nervex::cli
