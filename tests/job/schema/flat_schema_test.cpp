#include "job/schema/flat_schema.h"

#include <random>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/job/corpus.h"
#include "tests/job/schema/samples.h"

namespace nervex::job {
namespace {

using testing::a_job;
using testing::job_check;
using testing::with_odd_parts;

// Checks that the quick verdict is correct.
void check_verdicts(const SchemaCheck& check, const Json& object) {
  if (!check.accepts(object)) return;  // it does not know
  const FieldErrors errors = check.explain(object);
  INFO(to_string(errors));
  CHECK(errors.empty());
}

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

// Any place of the job, not the whole of it.
Json::json_pointer any_place(const Json& job, Random& random) {
  const Json flat = job.flatten();
  auto at = flat.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(below(random, flat.size())));
  Json::json_pointer place(at.key());
  for (auto up = below(random, 4); up > 0 && !place.parent_pointer().empty(); --up) {
    place.pop_back();
  }
  return place;
}

// One to three parts of the job removed, or replaced by other parts of it.
Json shuffled(Json job, Random& random) {
  for (auto changes = 1 + below(random, 3); changes > 0; --changes) {
    const auto place = any_place(job, random);
    const Json other = job[any_place(job, random)];
    if (below(random, 2) == 0) {
      job[place] = other;
    } else if (job[place.parent_pointer()].is_object()) {
      job[place.parent_pointer()].erase(place.back());
    }
  }
  return job;
}

}  // namespace

TEST_CASE("valid jobs are accepted by the flat schema", "[job][flat_schema]") {
  const auto check = job_check();
  CHECK(check->accepts(a_job()));
  for (const Json& row : testing::corpus_rows("right.json")) {
    INFO(row["when"]);
    CHECK(check->accepts(testing::corpus_job(row)));
  }
}

TEST_CASE("the flat schema accepts nothing that the full check refuses",
          "[job][flat_schema][property]") {
  const auto check = job_check();
  for (const Json& row : testing::corpus_rows("wrong.json")) {
    INFO(row["when"]);
    check_verdicts(*check, testing::corpus_job(row));
  }
  with_odd_parts(a_job(), [&](const Json& job) { check_verdicts(*check, job); });
  const std::array<Json, 2> jobs{a_job(), testing::corpus_job({{"in", "job"}, {"set", {}}})};
  Random random(1);
  int right = 0;
  int accepted = 0;
  for (int i = 0; i < 2'000; ++i) {
    const Json job = shuffled(jobs[below(random, jobs.size())], random);
    INFO("change " << i << ": " << job);
    check_verdicts(*check, job);
    if (i % 10 != 0 || !check->explain(job).empty()) continue;
    ++right;
    if (check->accepts(job)) ++accepted;
  }
  INFO(accepted << " of " << right << " right ones");
  CHECK(right > 20);
  CHECK(accepted == right);
}

TEST_CASE("each keyword is interpreted as in the full check", "[job][flat_schema]") {
  struct Row {
    std::string schema;
    std::string right;  // arrays of values
    std::string wrong;
  };
  const auto row = GENERATE(values<Row>({
      {R"({"type": "integer", "format": "int32", "minimum": 1, "maximum": 2147483647})",
       "[1, 2147483647]", R"([0, 2147483648, 1.5, "1", true, {}, []])"},
      {R"({"type": "integer", "format": "int64"})", "[-9223372036854775808, 0]",
       "[9223372036854775808, 18446744073709551615, 1e3]"},
      {R"({"type": "number", "minimum": 0.5})", "[1, 0.5, 1e300]", R"([0, 0.25, "1"])"},
      {R"({"type": ["integer", "string"]})", R"([1, "80%"])", "[1.5, true, {}]"},
      {R"({"type": "boolean"})", "[true, false]", R"([0, "true"])"},
      {R"({"type": "string", "minLength": 2, "maxLength": 3})", R"(["ab", "äöü"])",
       R"(["", "ä", "abcd", 12])"},
      {R"({"type": "string", "enum": ["a", ""]})", R"(["a", ""])", R"(["b", 1])"},
      {R"({"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}})",
       R"([["a"], ["a", "b"]])", R"([[], ["a", "b", "c"], [1], [null], {}])"},
      {R"({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {}}})",
       R"([{"a": ""}, {"a": "", "b": {"any": 1}}, {"a": "", "c": null}])",
       R"([{}, {"a": null}, {"a": 1}, {"a": "", "c": 1}])"},
      {R"({"properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": true})",
       R"([{"c": 1}])", "[]"},
      {R"({"type": "object", "additionalProperties": {"type": "string"}})", R"([{}, {"a": ""}])",
       R"([{"a": 1}])"},
      {R"({"$ref": "#/definitions/A", "definitions": {"A": {"type": "object", "properties": {
          "inner": {"$ref": "#/definitions/A"}}}}})",
       R"([{"inner": {"inner": {}}}])", R"([{"inner": {"inner": 1}}, {"other": {}}])"},
  }));
  INFO(row.schema);
  const auto check = SchemaCheck::compile(Json::parse(row.schema));
  REQUIRE(check);
  for (const Json& value : Json::parse(row.right)) {
    INFO(value);
    CHECK((*check)->accepts(value));
    CHECK((*check)->explain(value).empty());
  }
  for (const Json& value : Json::parse(row.wrong)) {
    INFO(value);
    CHECK_FALSE((*check)->accepts(value));
    CHECK_FALSE((*check)->explain(value).empty());
  }
}

TEST_CASE("a schema with other keywords is left to the full check", "[job][flat_schema]") {
  const auto schema = GENERATE(
      as<std::string>{}, R"({"pattern": "a"})", R"({"oneOf": [{"type": "string"}]})",
      R"({"type": "null"})", R"({"enum": [1]})", R"({"required": ["a"]})",
      R"({"minItems": 0, "minLength": 0})", R"({"$ref": "#/definitions/B", "definitions": {}})",
      R"({"$ref": "#/definitions/A", "definitions": {"A": {"$ref": "#/definitions/A"}}})");
  INFO(schema);
  const FlatSchema flat(Json::parse(schema));
  for (const Json& value : {Json("a"), Json(1), Json::object(), Json::array(), Json()}) {
    CHECK_FALSE(flat.accepts(value));
  }
}

}  // namespace nervex::job
