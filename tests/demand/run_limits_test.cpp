#include "demand/run_limits.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/support/job_builders.h"

namespace nervex::demand {
namespace {

using testing::a_job;
using testing::a_template;

Json with_grace(std::int64_t seconds) {
  Json made = a_template();
  made["spec"]["terminationGracePeriodSeconds"] = seconds;
  return made;
}

TEST_CASE("how long a job may keep its nodes follows from its spec", "[demand][gang]") {
  struct Row {
    std::string when;
    std::function<void(job::Job&, job::PodContext&)> change;
    std::optional<std::int64_t> deadline, grace;
  };
  const auto row = GENERATE(values<Row>({
      {"it has no limit", [](auto&, auto&) {}, std::nullopt, 30},
      {"it has one", [](auto& job, auto&) { job.spec.active_deadline_seconds = 60; }, 60, 30},
      {"it was active before",
       [](auto& job, auto&) {
         job.spec.active_deadline_seconds = 60;
         job.status.active_seconds = 20;
       },
       40, 30},
      {"no time is left",
       [](auto& job, auto&) {
         job.spec.active_deadline_seconds = 60;
         job.status.active_seconds = 90;
       },
       0, 30},
      {"a role ends slowly",
       [](auto& job, auto&) { job.spec.learner->pod_template = with_grace(300); }, std::nullopt,
       300},
      {"all end at once",
       [](auto& job, auto&) {
         job.spec.coordinator_template = with_grace(0);
         job.spec.collector->pod_template = job.spec.learner->pod_template = with_grace(0);
       },
       std::nullopt, 0},
      {"its aggregator ends slowly",
       [](auto&, auto& context) {
         context.has_aggregator = true;
         context.aggregator_template = with_grace(90);
       },
       std::nullopt, 90},
      {"its pods stay",
       [](auto& job, auto&) {
         job.spec.active_deadline_seconds = 60;
         job.spec.clean_pod_policy = job::CleanPodPolicy::kNone;
       },
       60, std::nullopt},
  }));
  INFO("when " << row.when);
  job::Job job = a_job(0, 2);
  job::PodContext context;
  row.change(job, context);
  gang::PodGroupSpec spec;
  set_run_limits(job, context, spec);
  CHECK(spec.active_deadline_seconds == row.deadline);
  CHECK(spec.grace_seconds == row.grace);
}

TEST_CASE("a job may let others take its nodes back", "[demand][gang]") {
  job::Job job = a_job();
  gang::PodGroupSpec spec;
  set_run_limits(job, {}, spec);
  CHECK_FALSE(spec.preemptible);
  job.spec.preemptible = true;
  set_run_limits(job, {}, spec);
  CHECK(spec.preemptible);
}

}  // namespace
}  // namespace nervex::demand
