#include "server/decide/ordinals.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>

#include "server/decide/replace.h"
#include "tests/server/builders.h"

namespace nervex::server {
namespace {

using job::Role;
using job::Slot;
using testing::an_entry;

constexpr int kExhausted = job::kMaxIncarnation + 1;

}  // namespace

TEST_CASE("a replica that the controller can no longer replace continues under a new ordinal",
          "[server][ordinals]") {
  struct Row {
    std::string when;
    Role role;
    Slot slot;               // that the controller has replaced too often
    Role face;               // by whose pod a client knew it
    Slot successor;          // of the same role
    std::vector<Slot> want;  // replicas of the role
  };
  const auto row = GENERATE(values<Row>({
      {"it was requested",
       Role::kCollector,
       {4097, kExhausted},
       Role::kCollector,
       {4098, 0},
       {{0, 0}, {4096, 0}, {4098, 0}}},
      {"it is of the base",
       Role::kCollector,
       {0, kExhausted},
       Role::kCollector,
       {4098, 0},
       {{4096, 0}, {4097, 0}, {4098, 0}}},
      {"it has several GPUs",
       Role::kLearner,
       {4096, kExhausted},
       Role::kAggregator,
       {4098, 0},
       {{4098, 0}}},
  }));
  INFO("when " << row.when);
  job::Job job = running_job(1, 0);
  job.spec.requests.entries = {an_entry(1, Role::kCollector, 2),
                               testing::multi_gpu_entry(2, {4096}, {8, 2})};
  job.status.replaced = {{row.role, row.slot}};
  REQUIRE(job::wanted_replicas(job, row.role).size() == row.want.size() - 1);

  const auto continued = renumber_exhausted({job});
  REQUIRE(continued);
  std::vector<Slot> slots;
  for (const auto& replica : job::wanted_replicas(*continued, row.role))
    slots.push_back(replica.slot);
  CHECK(slots == row.want);
  CHECK_FALSE(renumber_exhausted({*continued}));  // once

  // Its last name is answered with its successor.
  const std::string last = job::pod_name(job, row.face, {row.slot.ordinal, job::kMaxIncarnation});
  const auto named = replace({*continued}, {"rl", "dqn-coordinator", {last}, {}});
  REQUIRE(named);
  const auto& urls =
      named->answer.collectors.empty() ? named->answer.learners : named->answer.collectors;
  REQUIRE(urls.size() == 1);
  CHECK(pod_in(urls[0]) == job::pod_name(job, row.face, row.successor));
}

TEST_CASE("a job whose replicas have names left is left alone", "[server][ordinals]") {
  job::Job job = running_job(1, 0);
  job.spec.requests.entries = {an_entry(1, Role::kCollector, 1)};
  job.status.replaced = {{Role::kCollector, {4096, job::kMaxIncarnation}},
                         {Role::kAggregator, {0, kExhausted}},
                         {Role::kCollector, {7, kExhausted}}};  // the base was lowered
  CHECK_FALSE(renumber_exhausted({job}));
}

TEST_CASE("without an ordinal left an exhausted replica stays away", "[server][ordinals]") {
  job::Job job = running_job(1, 0);
  job.spec.requests.next_collector = job::kFirstContinuedOrdinal;
  job.status.replaced = {{Role::kCollector, {0, kExhausted}}};
  CHECK_FALSE(renumber_exhausted({job}));
}

}  // namespace nervex::server
