#include "controller/desired_pod_group.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using testing::a_job;
using testing::a_template;
using testing::an_entry;

job::PodContext a_context(bool has_aggregator = false) {
  return {.server_url = "server:8080",
          .server_token = false,
          .has_aggregator = has_aggregator,
          .aggregator_template = has_aggregator ? a_template() : Json()};
}

gang::PodGroup group_of(const job::Job& job, const job::PodContext& context) {
  return *gang::decode_pod_group(pod_group_manifest(job, context));
}

std::vector<std::string> names_of(const std::vector<gang::MemberSet>& sets) {
  std::vector<std::string> names;
  for (const auto& set : sets) names.push_back(set.name);
  return names;
}

TEST_CASE("a job's base gang is its coordinator, aggregator and floors",
          "[controller][desired_pod_group]") {
  struct Row {
    std::string when;
    job::Job job;
    bool has_aggregator;
    std::vector<std::string> want;
  };
  const auto row = GENERATE(values<Row>({
      {"it is serial", a_job(), false, {"coordinator"}},
      {"floors are zero", a_job(0, 0), false, {"coordinator"}},
      {"it has everything",
       a_job(2, 1),
       true,
       {"coordinator", "aggregator", "collector", "learner"}},
  }));
  INFO("when " << row.when);
  const auto sets = base_sets(row.job, a_context(row.has_aggregator));
  CHECK(names_of(sets) == row.want);
  for (const auto& set : sets) CHECK(set.gang == "base");
}

TEST_CASE("a PodGroup tells the scheduling side all it needs", "[controller][desired_pod_group]") {
  job::Job job = a_job(2, 1);
  job.status.attempt = 3;
  job.status.queued_time = *parse_rfc3339("2026-11-21T10:00:00.250Z");
  job.spec.learner->pod_template["spec"]["nodeSelector"]["zone"] = "a";
  const gang::PodGroup group = group_of(job, a_context());
  CHECK(group.meta.name == "dqn-3");
  CHECK(group.meta.owner->uid == "uid-dqn");
  CHECK(group.spec.attempt == 3);
  CHECK(group.spec.queued_since == *job.status.queued_time);
  const gang::MemberSet& learner = group.spec.members.at(2);
  CHECK(learner.slots == std::vector<gang::SlotId>{{0, 0}});
  CHECK(learner.requests == kube::Resources{{"cpu", 1000}, {"nvidia.com/gpu", 1}, {"pods", 1}});
  CHECK(learner.constraints.node_selector == Json{{"zone", "a"}});
}

TEST_CASE("each request of the attempt is a gang of its own", "[controller][desired_pod_group]") {
  job::Job job = a_job(0, 0);
  job.status.attempt = 1;
  const gang::PodGroup group = group_of(job, a_context());
  job.spec.requests.entries = {an_entry(3, Role::kCollector, 2), an_entry(4, Role::kLearner, 1)};
  job.spec.requests.entries[1].gpus = "4";
  auto missing = missing_sets(job, group, a_context());
  CHECK(names_of(missing) == std::vector<std::string>{"request-3-collector", "request-4-learner"});
  CHECK(missing[0].slots == std::vector<gang::SlotId>{{4096, 0}, {4097, 0}});
  CHECK(missing[1].gang == "request-4");
  CHECK(missing[1].requests.get("nvidia.com/gpu") == 4);

  SECTION("those that are there already are left alone") {
    gang::PodGroup grown = group;
    grown.spec.members.push_back(missing[0]);
    CHECK(names_of(missing_sets(job, grown, a_context())) ==
          std::vector<std::string>{"request-4-learner"});
  }
  SECTION("those of another attempt count as absent") {
    job.spec.requests.entries[0].attempt = 2;
    CHECK(missing_sets(job, group, a_context()).size() == 1);
  }
  SECTION("those without a template cannot be made") {
    job.spec.learner.reset();
    CHECK(missing_sets(job, group, a_context()).size() == 1);
  }
}

TEST_CASE("whether a job gets an aggregator", "[controller][desired_pod_group]") {
  struct Row {
    std::string aggregator;
    bool config_exists;
    bool want;
    bool waits;
  };
  const auto row = GENERATE(values<Row>({{"", true, true, false},
                                         {"", false, false, false},
                                         {"PerJob", true, true, false},
                                         {"PerJob", false, false, true},
                                         {"OnDemand", true, false, false},
                                         {"OnDemand", false, false, false}}));
  INFO("aggregator " << row.aggregator << ", config " << row.config_exists);
  job::Spec spec;
  spec.aggregator = row.aggregator;
  CHECK(wants_aggregator(spec, row.config_exists) == row.want);
  CHECK(waits_for_aggregator(spec, row.config_exists) == row.waits);
}

TEST_CASE("a worker that has ended gives its room back when its pod is gone",
          "[controller][desired_pod_group]") {
  job::Job job = a_job(2, 1);
  job.status.attempt = 1;
  auto sets = base_sets(job, a_context());
  const std::vector<job::Status::Ended> ended = {{Role::kCollector, {0, 0}, true},
                                                 {Role::kCollector, {1, 0}, false}};
  Attempt attempt;
  SECTION("one pod is kept for its logs") {
    attempt.pods.push_back({nullptr, Role::kCollector, {1, 0}, 2, job::PodState::kFailed});
    CHECK(drop_ended_slots(sets, ended, attempt));
    CHECK(sets.at(1).slots == std::vector<gang::SlotId>{{1, 0}});
    CHECK_FALSE(drop_ended_slots(sets, ended, attempt));
  }
  SECTION("both pods are gone") {
    CHECK(drop_ended_slots(sets, ended, attempt));
    CHECK(names_of(sets) == std::vector<std::string>{"coordinator", "collector", "learner"});
    CHECK(sets.at(1).slots.empty());
    CHECK(sets.at(2).slots.size() == 1);
  }
  SECTION("nobody has ended") { CHECK_FALSE(drop_ended_slots(sets, {}, attempt)); }
}

}  // namespace
}  // namespace nervex::controller
