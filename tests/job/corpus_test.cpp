// The corpus of tests/job/corpus: each wrong job is refused with these fields and words, each right
// one passes. That the API server agrees is test_admission_corpus.py's to show.
#include <catch2/catch_test_macros.hpp>

#include "job/template/rules.h"
#include "job/validate.h"
#include "tests/job/corpus.h"
#include "tests/job/texts.h"

namespace nervex::job {
namespace {

using testing::corpus_job;
using testing::corpus_rows;
using testing::texts;
using testing::Texts;

}  // namespace

TEST_CASE("every wrong job of the corpus is refused with its fields and words", "[job][corpus]") {
  const Json rows = corpus_rows("wrong.json");
  CHECK(rows.size() >= 150);
  for (const Json& row : rows) {
    INFO("when " << row["when"].get<std::string>());
    const Texts said = texts(validate_job(corpus_job(row)));
    if (row.contains("by")) continue;  // the schema tells
    CHECK(said == row["says"].get<Texts>());
  }
}

TEST_CASE("every right job of the corpus passes", "[job][corpus]") {
  const Json rows = corpus_rows("right.json");
  CHECK(rows.size() >= 40);
  for (const Json& row : rows) {
    INFO("when " << row["when"].get<std::string>());
    CHECK(texts(validate_job(corpus_job(row))) == Texts{});
  }
}

TEST_CASE("rules of templates do not trip over values of any type", "[job][corpus]") {
  const Json odd = Json::array({nullptr, 1, -1.5, true, "", "text", Json::array({1, nullptr, "a"}),
                                Json::object({{"a", 1}, {"", Json::array()}})});
  for (const Json& row : corpus_rows("right.json")) {
    // Each value of the template, one after the other, and what holds it, become something odd.
    const Json right = corpus_job(row);
    const Json flat = right.flatten();
    for (const auto& [path, unused] : flat.items()) {
      if (!path.starts_with("/spec/learner/template")) continue;
      const Json::json_pointer pointer(path);
      Json job = right;
      job[pointer] = odd[path.size() % odd.size()];
      static_cast<void>(validate_job(job));
      job[pointer.parent_pointer()] = odd[(path.size() + 1) % odd.size()];
      static_cast<void>(validate_job(job));
    }
  }
}

TEST_CASE("a variable that is set twice is a warning", "[job][corpus]") {
  Json job = corpus_rows("base.json");
  Json& env = job["spec"]["learner"]["template"]["spec"]["containers"][0]["env"];
  CHECK(template_warnings(job).empty());
  env.push_back({{"name", "A"}, {"value", "2"}});
  CHECK(template_warnings(job) ==
        Texts{"spec.learner.template.spec.containers[0].env[1]: the variable A is set twice, the "
              "last one counts"});
}

TEST_CASE("a hostile template does not fill the memory with errors", "[job][corpus]") {
  Json job = corpus_rows("base.json");
  Json& container = job["spec"]["learner"]["template"]["spec"]["containers"][0];
  for (int i = 0; i < 20'000; ++i) container["ports"].push_back({{"containerPort", 70'000}});
  CHECK(validate_job(job).size() <= kMaxErrors + 10);
}

}  // namespace nervex::job
