#include "demand/initial_gang.h"

#include <map>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/support/job_builders.h"

namespace nervex::demand {
namespace {

using job::Role;
using testing::a_job;
using testing::a_template;
using testing::an_entry;
using testing::with_gpus;

job::Job a_job_that_reserves(int collectors, int learners, int reserved, const std::string& gpus) {
  job::Job job = a_job(collectors, learners);
  job.spec.learner->pod_template = with_gpus(a_template(), gpus);
  job.spec.learner->reserved_replicas = reserved;
  return job;
}

job::PodContext a_context(bool has_aggregator = false) {
  return {.server_url = "server:8080",
          .server_token = false,
          .has_aggregator = has_aggregator,
          .aggregator_template = has_aggregator ? a_template() : Json()};
}

// "learner 2+1": two slots, and capacity for one more pod.
std::string describe(const gang::Gang& gang) {
  CHECK(gang.kind == gang::GangKind::kBase);
  CHECK(gang.name == gang::kBaseGang);
  std::string text;
  for (const gang::MemberSet& set : gang.members) {
    CHECK(set.name == set.role);
    text += (text.empty() ? "" : ", ") + set.name + " " + std::to_string(set.slots.size());
    if (set.reserved_pods > 0) text += "+" + std::to_string(set.reserved_pods);
  }
  return text;
}

}  // namespace

TEST_CASE("a job starts with coordinator, aggregator, base replicas and reserved capacity",
          "[demand][gang]") {
  struct Row {
    std::string when;
    job::Job job;
    bool has_aggregator = false;
    std::string sets;
  };
  job::Job requested = a_job(1, 0);
  requested.status.attempt = 1;
  requested.spec.requests.entries = {an_entry(1, Role::kCollector, 3)};
  const auto row = GENERATE_COPY(values<Row>({
      {"there is a coordinator alone", a_job(), false, "coordinator 1"},
      {"there are base replicas", a_job(2, 3), false, "coordinator 1, collector 2, learner 3"},
      {"there is an aggregator", a_job(1, 0), true, "coordinator 1, aggregator 1, collector 1"},
      {"capacity is reserved beside base replicas", a_job_that_reserves(0, 1, 3, "1"), false,
       "coordinator 1, learner 1+2"},
      {"capacity is reserved without base replicas", a_job_that_reserves(0, 0, 2, "1"), false,
       "coordinator 1, learner 0+2"},
      {"base replicas need more than what is to be reserved", a_job_that_reserves(0, 4, 2, "1"),
       false, "coordinator 1, learner 4"},
      {"multi-GPU learners may be requested", a_job_that_reserves(0, 0, 2, "8"), true,
       "coordinator 1, aggregator 1+2, learner 0+2"},
      {"replicas are requested, which is later", requested, false, "coordinator 1, collector 1"},
  }));
  INFO("when " << row.when);
  const job::WantedSlots slots(row.job, row.has_aggregator);
  CHECK(describe(make_initial_gang(row.job, slots, a_context(row.has_aggregator))) == row.sets);
}

TEST_CASE("a set has the requests of its role's template", "[demand][gang]") {
  const job::Job job = a_job_that_reserves(1, 1, 0, "4");
  const auto sets = make_initial_gang(job, job::WantedSlots(job, false), a_context()).members;
  REQUIRE(sets.size() == 3);
  CHECK(sets[0].bind_last);
  CHECK(sets[0].shape.requests.get("nvidia.com/gpu") == 0);
  CHECK_FALSE(sets[2].bind_last);
  CHECK(sets[2].shape.requests.get("nvidia.com/gpu") == 4);
}

TEST_CASE("the job's own aggregator heals alone, and no other set does", "[demand][gang]") {
  const job::Job job = a_job(1, 1);
  const auto gang = make_initial_gang(job, job::WantedSlots(job, true), a_context(true));
  for (const auto& set : gang.members) {
    INFO(set.name);
    CHECK(set.heals_alone == (set.role == to_string(Role::kAggregator)));
  }
}

TEST_CASE("a set has its constraints, and the counters of those that count its pods",
          "[demand][gang][spread]") {
  job::Job job = a_job(2, 1);
  const auto labelled = [](const char* team, const Json& constraints) {
    Json made = a_template();
    made["metadata"] = {{"labels", {{"team", team}}}};
    if (!constraints.empty()) made["spec"]["topologySpreadConstraints"] = constraints;
    return made;
  };
  const auto by = [](const char* key, const char* team) -> Json {
    return {{"maxSkew", 1},
            {"topologyKey", key},
            {"whenUnsatisfiable", "DoNotSchedule"},
            {"labelSelector", {{"matchLabels", {{"team", team}}}}}};
  };
  job.spec.collector->pod_template = labelled("a", {by("zone", "a"), by("host", "b")});
  job.spec.learner->pod_template = labelled("b", Json());
  const auto counters = [](const gang::MemberSet& set) {
    int count = 0;
    for (const auto& [name, amount] : set.shape.requests.amounts()) {
      count += kube::is_counter(name) ? 1 : 0;
    }
    return count;
  };
  const gang::Gang gang = make_initial_gang(job, job::WantedSlots(job, false), a_context());
  std::map<std::string, const gang::MemberSet*> sets;
  for (const gang::MemberSet& set : gang.members) sets[set.role] = &set;
  const auto& spread = sets.at("collector")->shape.spread;
  REQUIRE(spread.size() == 2);
  CHECK(spread[0].key == "zone");
  const std::string its_own = spread[0].pods.counter;
  const std::string of_learners = spread[1].pods.counter;
  CHECK(sets.at("collector")->shape.requests.get(its_own) == 1);
  CHECK(counters(*sets.at("collector")) == 1);
  CHECK(sets.at("learner")->shape.spread.empty());
  CHECK(sets.at("learner")->shape.requests.get(of_learners) == 1);
  CHECK(counters(*sets.at("coordinator")) == 0);
}

}  // namespace nervex::demand
