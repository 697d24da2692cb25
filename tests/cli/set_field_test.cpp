#include "cli/submit/set_field.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::cli {
namespace {

Json a_small_job() {
  return {
      {"metadata", {{"name", "dqn"}}},
      {"spec", {{"learner", {{"replicas", 1}}}, {"volumes", Json::array({{{"name", "data"}}})}}}};
}

TEST_CASE("--set changes the field at its path", "[cli][submit]") {
  struct Row {
    std::string assignment;
    std::string pointer;
    Json want;  // null: removed
  };
  const auto row = GENERATE(values<Row>({
      {"spec.learner.replicas=4", "/spec/learner/replicas", 4},
      {"learner.replicas=4", "/spec/learner/replicas", 4},
      {"metadata.name=dqn-2", "/metadata/name", "dqn-2"},
      {"name=dqn-2", "/metadata/name", "dqn-2"},
      {"metadata.labels[\"a.b/c=d\"]=x", "/metadata/labels/a.b~1c=d", "x"},
      {"spec.volumes[0].name=other", "/spec/volumes/0/name", "other"},
      {"spec.volumes[1].name=more", "/spec/volumes/1/name", "more"},
      {"spec.suspend=true", "/spec/suspend", true},
      {"spec.group=\"true\"", "/spec/group", "true"},
      {"spec.group=a=b", "/spec/group", "a=b"},
      {"spec.nodeSelector={zone: a}", "/spec/nodeSelector", {{"zone", "a"}}},
      {"spec.learner.replicas=", "/spec/learner/replicas", nullptr},
      {"spec.learner=null", "/spec/learner", nullptr},
  }));
  INFO(row.assignment);
  Json job = a_small_job();
  REQUIRE(set_field(job, row.assignment));
  const Json::json_pointer pointer(row.pointer);
  CHECK(job.contains(pointer) == !row.want.is_null());
  if (!row.want.is_null()) CHECK(job.at(pointer) == row.want);
}

TEST_CASE("a wrong --set changes nothing", "[cli][submit]") {
  const std::string assignment =
      GENERATE("", "spec.suspend", "=1", "spec..suspend=1", "spec.volumes[x].name=1",
               "spec.volumes[0=1", "spec.volumes[3].name=1", "spec.volumes.name=1",
               "spec.learner.replicas.more=1", "spec.group=[1");
  INFO(assignment);
  Json job = a_small_job();
  const auto done = set_field(job, assignment);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Code::kInvalid);
  CHECK(done.error().message.starts_with("--set "));
  CHECK(job == a_small_job());
}

}  // namespace
}  // namespace nervex::cli
