#include "job/kept.h"

#include <catch2/catch_test_macros.hpp>

#include "job/names.h"
#include "job/pod_manifest.h"
#include "tests/support/job_builders.h"

namespace nervex::job {
namespace {

Job a_job_with_marks() {
  Job job = testing::a_job(2, 1);
  job.meta.labels["team"] = "a";
  job.meta.annotations["note"] = "long";
  job.meta.annotations[kSubmittedByAnnotation] = "anna";
  job.spec.volumes = Json::parse(R"([{"name":"data"}])");
  return job;
}

TEST_CASE("a packed job is the same when it is unpacked, without what no program reads",
          "[job][memory]") {
  const Job job = a_job_with_marks();
  const Job kept = packed(job);
  CHECK(kept.spec.coordinator_template.is_packed());
  CHECK(kept.spec.coordinator_template.is_object());
  CHECK_THROWS(kept.spec.coordinator_template.get());
  CHECK(kept == packed(job));
  CHECK(packed(kept) == kept);
  const Job again = unpacked(kept);
  CHECK(again.spec == job.spec);
  CHECK(again.meta.labels.empty());
  CHECK(again.meta.annotations.size() == 1);
  CHECK(kube::annotation(again.meta, kSubmittedByAnnotation) == "anna");
  CHECK(unpacked(again) == again);
}

TEST_CASE("a job without templates has the same ports and roles", "[job][memory]") {
  Job job = a_job_with_marks();
  job.spec.collector->pod_template["spec"]["containers"][0]["ports"] =
      Json::parse(R"([{"name":"nervex-port","containerPort":7777}])");
  job.spec.learner.reset();
  const Job kept = without_templates(job);
  for (const Role role : {Role::kCoordinator, Role::kCollector, Role::kLearner}) {
    CHECK(main_port(role_template(kept, role, {}), role) ==
          main_port(role_template(job, role, {}), role));
  }
  CHECK(kept.spec.collector->pod_template.is_object());
  CHECK_FALSE(kept.spec.learner);
  CHECK(kept.spec.volumes.get().empty());
  CHECK(kept.spec.requests == job.spec.requests);
}

}  // namespace
}  // namespace nervex::job
