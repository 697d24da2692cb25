#include "webhook/requests_guard.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

namespace nervex::webhook {

TEST_CASE("restore_requests brings back what was stored", "[webhook][requests]") {
  struct Row {
    std::string when;
    std::string object;
    std::string old_object;
    std::string want_spec;
  };
  const auto row = GENERATE(values<Row>({
      {"nobody has any", R"({"spec": {"a": 1}})", R"({"spec": {}})", R"({"a": 1})"},
      {"they are the same", R"({"spec": {"requests": {"nextId": 2}}})",
       R"({"spec": {"requests": {"nextId": 2}}})", R"({"requests": {"nextId": 2}})"},
      {"they were changed", R"({"spec": {"requests": {"nextId": 9}}})",
       R"({"spec": {"requests": {"nextId": 2}}})", R"({"requests": {"nextId": 2}})"},
      {"they were dropped, as kubectl replace does", R"({"spec": {"a": 1}})",
       R"({"spec": {"requests": {"nextId": 2}}})", R"({"a": 1, "requests": {"nextId": 2}})"},
      {"they were made up", R"({"spec": {"requests": {}}})", R"({"spec": {}})", "{}"},
      {"they come with a new object", R"({"spec": {"requests": {}}})", "null", "{}"},
      {"there is no spec", R"({"spec": 1})", R"({"spec": {"requests": {}}})", "1"},
  }));
  INFO("when " << row.when);
  const Json object = Json::parse(row.object);
  const Json old_object = Json::parse(row.old_object);
  const Json restored = object.patch(restore_requests(object, old_object));
  CHECK(restored["spec"] == Json::parse(row.want_spec));
  CHECK(restore_requests(restored, old_object).empty());
}

TEST_CASE("same_spec_but_requests sees every other change", "[webhook][requests]") {
  const Json old_object = Json::parse(R"({"spec": {"a": 1, "requests": {"nextId": 2}}})");
  struct Row {
    std::string when;
    std::string object;
    bool want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing changed", R"({"spec": {"a": 1, "requests": {"nextId": 2}}})", true},
      {"requests changed", R"({"spec": {"a": 1}})", true},
      {"metadata changed", R"({"metadata": {"labels": {}}, "spec": {"a": 1}})", true},
      {"a field changed", R"({"spec": {"a": 2, "requests": {"nextId": 2}}})", false},
      {"a field came", R"({"spec": {"a": 1, "b": 1}})", false},
      {"a field went", R"({"spec": {}})", false},
      {"the spec went", R"({})", false},
  }));
  INFO("when " << row.when);
  CHECK(same_spec_but_requests(Json::parse(row.object), old_object) == row.want);
}

}  // namespace nervex::webhook
