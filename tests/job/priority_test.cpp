#include "job/priority.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::job {
namespace {

std::shared_ptr<const PriorityClass> a_class(const char* name, int value, bool is_default = false) {
  PriorityClass one;
  one.meta.name = name;
  one.value = value;
  one.is_global_default = is_default;
  return std::make_shared<const PriorityClass>(one);
}

Json a_template_with_priority(const char* priority_class) {
  return {{"spec", {{"priorityClassName", priority_class}}}};
}

TEST_CASE("a PriorityClass is read as the API server writes it", "[job][priority]") {
  const auto urgent = decode_priority_class(
      R"({"metadata":{"name":"urgent"},"value":1000,"globalDefault":true,"description":"x"})");
  REQUIRE(urgent);
  CHECK(urgent->meta.name == "urgent");
  CHECK(urgent->value == 1000);
  CHECK(urgent->is_global_default);
  const auto below = decode_priority_class(R"({"metadata":{"name":"below"},"value":-5})");
  REQUIRE(below);
  CHECK(below->value == -5);
  CHECK_FALSE(below->is_global_default);
  CHECK_FALSE(decode_priority_class("{"));
}

TEST_CASE("a job's priority is what the API server would give its coordinator", "[job][priority]") {
  struct Row {
    const char* when;
    const char* of_job;
    const char* of_coordinator;
    const char* of_collector;
    PriorityClasses classes;
    int value;
    const char* missing;
    const char* named_by;
  };
  const PriorityClasses two = {a_class("high", 100), a_class("low", -10)};
  const PriorityClasses defaults = {a_class("a", 30, true), a_class("b", 20, true),
                                    a_class("high", 100)};
  const char* const in_coordinator = "spec.coordinator.template.spec.priorityClassName";
  const char* const in_collector = "spec.collector.template.spec.priorityClassName";
  const Row row = GENERATE_COPY(
      Row{"nothing is named, and there is no default", "", "", "", two, 0, "", ""},
      Row{"nothing is named: the lowest default", "", "", "", defaults, 20, "", ""},
      Row{"the job names one", "high", "", "", two, 100, "", ""},
      Row{"the job's comes before the templates'", "low", "high", "gone", two, -10, "", ""},
      Row{"the coordinator's template names one", "", "high", "", two, 100, "", ""},
      Row{"another template's is not the job's", "", "", "high", two, 0, "", ""},
      Row{"the job's does not exist", "gone", "", "", defaults, 20, "gone",
          "spec.priorityClassName"},
      Row{"the coordinator's does not exist", "", "gone", "", two, 0, "gone", in_coordinator},
      Row{"a collector's does not exist", "", "high", "gone", two, 100, "gone", in_collector});
  INFO("when " << row.when);
  Spec spec;
  spec.priority_class_name = row.of_job;
  spec.coordinator_template = a_template_with_priority(row.of_coordinator);
  spec.collector.emplace();
  spec.collector->pod_template = a_template_with_priority(row.of_collector);
  const Priority got = resolve_priority(spec, Json(), row.classes);
  CHECK(got == Priority{row.value, row.missing, row.named_by});
}

TEST_CASE("a job obeys the preemptionPolicy of the class that gives its priority",
          "[job][priority]") {
  PriorityClass polite;
  polite.meta.name = "polite";
  polite.value = 50;
  polite.never_preempts = true;
  PriorityClass polite_default = polite;
  polite_default.meta.name = "default";
  polite_default.value = 1;
  polite_default.is_global_default = true;
  const PriorityClasses classes = {a_class("high", 100),
                                   std::make_shared<const PriorityClass>(polite)};
  PriorityClasses with_default = classes;
  with_default.push_back(std::make_shared<const PriorityClass>(polite_default));
  const auto resolve = [](const char* of_job, const char* of_coordinator,
                          const PriorityClasses& known) {
    Spec spec;
    spec.priority_class_name = of_job;
    spec.coordinator_template = a_template_with_priority(of_coordinator);
    return resolve_priority(spec, Json(), known).never_preempts;
  };
  CHECK(resolve("polite", "", classes));
  CHECK(resolve("", "polite", classes));
  CHECK(resolve("", "", with_default));
  CHECK_FALSE(resolve("", "", classes));
  CHECK_FALSE(resolve("high", "", with_default));
  CHECK_FALSE(resolve("high", "polite", classes));
  CHECK(decode_priority_class(R"({"metadata":{"name":"a"},"preemptionPolicy":"Never"})")
            ->never_preempts);
  CHECK_FALSE(decode_priority_class(
                  R"({"metadata":{"name":"a"},"preemptionPolicy":"PreemptLowerPriority"})")
                  ->never_preempts);
}

TEST_CASE("the AggregatorConfig's template is used like the others", "[job][priority]") {
  Spec spec;
  CHECK(resolve_priority(spec, a_template_with_priority("gone"), {}).missing == "gone");
  spec.priority_class_name = "high";  // which every pod gets
  CHECK(resolve_priority(spec, a_template_with_priority("gone"), {a_class("high", 1)})
            .missing.empty());
}

}  // namespace
}  // namespace nervex::job
