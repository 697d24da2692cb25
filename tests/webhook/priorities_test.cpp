#include "webhook/priorities.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::webhook {
namespace {

const Json kClasses = Json::parse(R"({"items": [
  {"metadata": {"name": "usual"}, "value": 7, "globalDefault": true},
  {"metadata": {"name": "most"}, "value": 9, "globalDefault": true, "preemptionPolicy": "Never"},
  {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"}]})");

std::optional<ClassPriority> find(const std::string& name) {
  if (name.empty()) return ClassPriority();
  for (const Json& one : kClasses["items"]) {
    if (one["metadata"]["name"] == name) return decode_class_priority(one);
  }
  return std::nullopt;
}

TEST_CASE("a priority that the cluster does not compute is refused", "[webhook][priorities]") {
  struct Row {
    std::string when;
    Json spec;  // of the learner's template
    std::string of_job;
    std::string want;
  };
  const std::string field = "spec.learner.template.spec.";
  const auto row = GENERATE_COPY(values<Row>({
      {"nothing is stated", {{"priorityClassName", "high"}}, "", ""},
      {"it is the one without a class",
       {{"priority", 0}, {"preemptionPolicy", "PreemptLowerPriority"}},
       "",
       ""},
      {"it is another without a class",
       {{"priority", 5}},
       "",
       field + "priority: Invalid value: 5: leave it out: the cluster sets it, and refuses pods "
               "with a value other than 0, that of pods without a PriorityClass"},
      {"it is that of the class",
       {{"priorityClassName", "high"}, {"priority", 1000}, {"preemptionPolicy", "Never"}},
       "",
       ""},
      {"the job's class is another",
       {{"priorityClassName", "high"}, {"priority", 1000}},
       "usual",
       field + "priority: Invalid value: 1000: leave it out: the cluster sets it, and refuses pods "
               "with a value other than 7, that of PriorityClass \"usual\""},
      {"the policy is another",
       {{"preemptionPolicy", "Never"}},
       "usual",
       field + "preemptionPolicy: Invalid value: \"Never\": leave it out: the cluster sets it, and "
               "refuses pods with a value other than PreemptLowerPriority, that of PriorityClass "
               "\"usual\""},
      {"the class is not there yet", {{"priority", 5}}, "missing", ""},
      {"it is no number, which others say", {{"priority", "5"}}, "", ""},
  }));
  INFO("when " << row.when);
  Json object = {{"spec", {{"learner", {{"template", {{"spec", row.spec}}}}}}}};
  if (!row.of_job.empty()) object["spec"]["priorityClassName"] = row.of_job;
  const auto errors = priority_errors(object, {"coordinator", "learner"}, find);
  CHECK((errors.empty() ? "" : to_string(errors)) == row.want);
}

TEST_CASE("without a class a pod has the lowest of the defaults", "[webhook][priorities]") {
  CHECK(default_class_priority(kClasses) == ClassPriority{"usual", 7});
  CHECK(default_class_priority(Json::object()) == ClassPriority());
}

TEST_CASE("classes are read only if a template states a priority", "[webhook][priorities]") {
  int asked = 0;
  const auto count = [&](const std::string&) {
    ++asked;
    return std::optional<ClassPriority>();
  };
  Json object = {{"spec", {{"learner", {{"template", {{"spec", Json::object()}}}}}}}};
  CHECK(priority_errors(object, {"learner"}, count).empty());
  CHECK(asked == 0);
  object["spec"]["learner"]["template"]["spec"]["priority"] = 1;
  CHECK(priority_errors(object, {"learner"}, count).empty());
  CHECK(asked == 1);
}

}  // namespace
}  // namespace nervex::webhook
