#include "job/schema/job_schema.h"

#include <array>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "job/types.h"
#include "tests/job/schema/samples.h"

namespace nervex::job {

TEST_CASE("convert_schema keeps what a JSON Schema validator understands", "[job][job_schema]") {
  struct Row {
    std::string when;
    std::string schema;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"a reference is wrapped to carry a default",
       R"({"allOf": [{"$ref": "#/components/schemas/a.B"}], "default": {}, "description": "d"})",
       R"({"$ref": "#/definitions/a.B"})"},
      {"a value is an integer or a string",
       R"({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})",
       R"({"format": "int-or-string", "type": ["integer", "string"]})"},
      {"a CRD says so in its way",
       R"({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]})",
       R"({"type": ["integer", "string"]})"},
      {"an enum may be left empty", R"({"type": "string", "enum": ["Never"], "default": "Never"})",
       R"({"type": "string", "enum": ["Never", ""]})"},
      {"there is a pattern", R"({"type": "string", "pattern": "(a*)*"})", R"({"type": "string"})"},
      {"fields are nested",
       R"({"type": "object", "required": ["a"], "properties": {"a": {"type": "array",
          "items": {"type": "string", "description": "d"}, "x-kubernetes-list-type": "set"}}})",
       R"({"type": "object", "required": ["a"], "properties": {"a": {"type": "array",
          "items": {"type": "string"}}}})"},
      {"keys are free",
       R"({"type": "object", "additionalProperties": {"type": "string", "default": ""}})",
       R"({"type": "object", "additionalProperties": {"type": "string"}})"},
      {"unknown fields are kept",
       R"({"type": "object", "x-kubernetes-preserve-unknown-fields": true})",
       R"({"type": "object", "x-kubernetes-preserve-unknown-fields": true})"},
  }));
  INFO("when " << row.when);
  CHECK(convert_schema(Json::parse(row.schema)) == Json::parse(row.want));
}

TEST_CASE("convert_definitions converts only what the roots refer to", "[job][job_schema]") {
  const Json document = Json::parse(R"({"components": {"schemas": {
    "A": {"properties": {"b": {"allOf": [{"$ref": "#/components/schemas/B"}]}}},
    "B": {"items": {"$ref": "#/components/schemas/A"}},
    "C": {"type": "string"}}}})");
  const std::array<std::string_view, 1> roots{"A"};
  const auto made = convert_definitions(document, roots);
  REQUIRE(made);
  CHECK(*made == Json::parse(R"({
    "A": {"properties": {"b": {"$ref": "#/definitions/B"}}},
    "B": {"items": {"$ref": "#/definitions/A"}}})"));

  const std::array<std::string_view, 1> other{"D"};
  const auto missing = convert_definitions(document, other);
  REQUIRE_FALSE(missing);
  CHECK(missing.error() == Error{Code::kInvalid, "OpenAPI document: no schema D"});
  CHECK_FALSE(convert_definitions(Json::array(), roots));
}

TEST_CASE("a document that is not the core group's OpenAPI is refused", "[job][job_schema]") {
  CHECK_FALSE(make_job_check(schemas::nervex_job(), "{}"));
  CHECK_FALSE(make_job_check(schemas::nervex_job(), "<html>"));
  CHECK_FALSE(make_job_check("{}", schemas::pod_template()));
  CHECK_FALSE(make_offline_job_check("{}", schemas::pod_template()));
}

// A job that is accepted and cannot be read is invisible to all programs.
TEST_CASE("every accepted topology and node class can be decoded", "[job][job_schema]") {
  Json job = testing::a_job();
  job["spec"]["topology"] = {{"level", "zone"}, {"policy", "Required"}};
  job["spec"]["collector"]["topology"] = {{"level", "rack"}, {"policy", "Preferred"}};
  job["spec"]["collector"]["nodeClasses"] = {"h100", "a100"};
  REQUIRE(job_errors(job, *testing::job_check()).empty());
  int accepted = 0;
  for (const char* at : {"/spec/topology", "/spec/topology/level", "/spec/topology/policy",
                         "/spec/collector/topology", "/spec/collector/topology/level",
                         "/spec/collector/topology/policy", "/spec/collector/nodeClasses",
                         "/spec/collector/nodeClasses/1"}) {
    for (const Json& value : {Json(), Json(true), Json(-1), Json(1.5), Json(""), Json("x"),
                              Json::array(), Json::object(), Json::array({nullptr, 1})}) {
      CAPTURE(at, value);
      Json changed = job;
      changed[Json::json_pointer(at)] = value;
      if (!job_errors(changed, *testing::job_check()).empty()) continue;
      ++accepted;
      CHECK(decode_job(changed).has_value());
    }
  }
  CHECK(accepted >= 8);
}

}  // namespace nervex::job
