#include "job/slots.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/support/job_builders.h"

namespace nervex::job {
namespace {

using testing::a_template;
using testing::an_entry;

Job in_its_second_attempt() {
  Job job;
  job.status.attempt = 2;
  job.spec.collector = RoleSpec{a_template(), 2, 0, {}};
  job.spec.learner = RoleSpec{a_template(), 0, 0, {}};
  return job;
}

RequestEntry an_entry_with_slots(int attempt, Role role, std::vector<Slot> slots) {
  RequestEntry entry = an_entry(1, role, 0);
  entry.attempt = attempt;
  entry.slots = std::move(slots);
  return entry;
}

std::vector<Slot> slots(const Job& job, Role role) {
  std::vector<Slot> found;
  for (const auto& replica : wanted_replicas(job, role)) found.push_back(replica.slot);
  return found;
}

TEST_CASE("a job wants its base replicas and what was requested in this attempt", "[job][slots]") {
  Job job = in_its_second_attempt();
  job.spec.requests.entries = {an_entry_with_slots(2, Role::kCollector, {{4098, 1}, {4096, 0}}),
                               an_entry_with_slots(1, Role::kCollector, {{4097, 0}}),
                               an_entry_with_slots(2, Role::kLearner, {{4096, 0}})};
  CHECK(slots(job, Role::kCollector) == std::vector<Slot>{{0, 0}, {1, 0}, {4096, 0}, {4098, 1}});
  CHECK(slots(job, Role::kLearner) == std::vector<Slot>{{4096, 0}});
  const auto replicas = wanted_replicas(job, Role::kCollector);
  CHECK(replicas[0].entry == nullptr);
  CHECK(replicas[2].entry == &job.spec.requests.entries[0]);
}

TEST_CASE("a role without a template wants nothing", "[job][slots]") {
  Job job = in_its_second_attempt();
  job.spec.collector.reset();
  job.spec.requests.entries = {an_entry_with_slots(2, Role::kCollector, {{4096, 0}})};
  CHECK(wanted_replicas(job, Role::kCollector).empty());
}

TEST_CASE("changes of base replicas by clients count only in their attempt", "[job][slots]") {
  Job job = in_its_second_attempt();
  job.spec.requests.base = {{2, Role::kCollector, {0, 3}, false},
                            {2, Role::kCollector, {1, 0}, true},
                            {2, Role::kLearner, {0, 9}, true}};
  CHECK(slots(job, Role::kCollector) == std::vector<Slot>{{0, 3}});
  job.status.attempt = 3;
  CHECK(slots(job, Role::kCollector) == std::vector<Slot>{{0, 0}, {1, 0}});
}

TEST_CASE("a removed base replica returns when `replicas` is set to another number",
          "[job][slots]") {
  struct Row {
    std::string when;
    int replicas;           // now; 4 at the removal of 2 and 3
    std::int64_t returned;  // in the status
    std::vector<Slot> want;
    int removed;
  };
  const auto row = GENERATE(values<Row>({
      {"the number is the same", 4, 0, {{0, 0}, {1, 0}}, 2},
      {"raised", 5, 0, {{0, 0}, {1, 0}, {2, 1}, {3, 6}, {4, 0}}, 0},
      {"lowered to what is left", 2, 0, {{0, 0}, {1, 0}}, 0},
      {"lowered by one", 3, 0, {{0, 0}, {1, 0}, {2, 1}}, 0},
      {"raised, seen, and lowered again", 4, 8, {{0, 0}, {1, 0}, {2, 1}, {3, 6}}, 0},
      {"one was removed again since", 4, 7, {{0, 0}, {1, 0}, {2, 1}}, 1},
  }));
  INFO("when " << row.when);
  Job job = in_its_second_attempt();
  job.spec.collector->replicas = row.replicas;
  job.spec.requests.base = {{2, Role::kCollector, {2, 0}, true, 7, 4},
                            {2, Role::kCollector, {3, 5}, true, 8, 4},
                            {2, Role::kLearner, {0, 0}, true, 9, 1}};
  job.status.returned_collector = row.returned;
  CHECK(slots(job, Role::kCollector) == row.want);
  CHECK(count_removed(job, Role::kCollector) == row.removed);
  CHECK(returned_through(job, Role::kCollector) == (row.replicas == 4 ? row.returned : 8));
  job.status.attempt = 3;
  CHECK(slots(job, Role::kCollector).size() == static_cast<std::size_t>(row.replicas));
}

TEST_CASE("a removal without an id lasts for the attempt", "[job][slots]") {
  Job job = in_its_second_attempt();
  job.spec.requests.base = {{2, Role::kCollector, {1, 0}, true}};
  job.spec.collector->replicas = 3;
  CHECK(slots(job, Role::kCollector) == std::vector<Slot>{{0, 0}, {2, 0}});
  CHECK(returned_through(job, Role::kCollector) == 0);
}

TEST_CASE("the higher incarnation of client and controller counts", "[job][slots]") {
  Job job = in_its_second_attempt();
  job.spec.requests.base = {{2, Role::kCollector, {0, 3}, false}};
  job.spec.requests.entries = {an_entry_with_slots(2, Role::kCollector, {{4096, 2}, {4097, 0}})};
  job.status.replaced = {{Role::kCollector, {0, 2}},
                         {Role::kCollector, {4096, 2}},
                         {Role::kCollector, {4097, 1}},
                         {Role::kLearner, {1, 7}}};
  CHECK(slots(job, Role::kCollector) == std::vector<Slot>{{0, 3}, {1, 0}, {4096, 2}, {4097, 1}});
  CHECK(current_slot(job, Role::kCollector, {4097, 0}) == Slot{4097, 1});
}

TEST_CASE("a multi-GPU learner is an aggregator and its ddp-learners", "[job][slots]") {
  RequestEntry entry = an_entry_with_slots(2, Role::kLearner, {{4100, 1}});
  CHECK(count_ordinals(entry) == 1);
  entry.gpu_split = {8, 2};
  CHECK(count_ordinals(entry) == 2);
  CHECK(replica_pods({Role::kLearner, {4100, 1}, &entry}) ==
        std::vector<ReplicaPod>{{Role::kAggregator, {4100, 1}, 0, 0},
                                {Role::kDdpLearner, {4100, 1}, 8, 0},
                                {Role::kDdpLearner, {4101, 1}, 2, 8}});
  CHECK(replica_pods({Role::kCollector, {0, 0}, nullptr}) ==
        std::vector<ReplicaPod>{{Role::kCollector, {0, 0}, 0, 0}});
}

TEST_CASE("a ddp-learner's slot determines its learner, index and ranks", "[job][slots]") {
  RequestEntry entry = an_entry_with_slots(2, Role::kLearner, {{4100, 0}, {4103, 0}});
  entry.gpu_split = {8, 8, 4};
  CHECK(place_of_ddp_learner(entry, {4100, 0}) == DdpPlace{{4100, 0}, 0, 8, 0, 20});
  CHECK(place_of_ddp_learner(entry, {4101, 0}) == DdpPlace{{4100, 0}, 1, 8, 8, 20});
  CHECK(place_of_ddp_learner(entry, {4105, 2}) == DdpPlace{{4103, 2}, 2, 4, 16, 20});
  CHECK(place_of_ddp_learner(entry, {4099, 0}) == std::nullopt);
  CHECK(place_of_ddp_learner(entry, {4106, 0}) == std::nullopt);

  entry.gpu_split.clear();
  CHECK(place_of_ddp_learner(entry, {4100, 0}) == std::nullopt);
}

}  // namespace
}  // namespace nervex::job
