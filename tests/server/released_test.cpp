#include "server/released.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/server/builders.h"

namespace nervex::server {

using job::Role;
using job::Slot;

TEST_CASE("a pod is given up when the job has let its slot go", "[server][released]") {
  struct Row {
    std::string when;
    Role role;
    Slot slot;
    bool want;
  };
  const auto row = GENERATE(values<Row>({
      {"it is wanted", Role::kCollector, {4096, 1}, false},
      {"a later incarnation is wanted", Role::kCollector, {4096, 0}, true},
      {"the job is older than the replacement", Role::kCollector, {4096, 2}, false},
      {"it was removed", Role::kCollector, {4097, 0}, true},
      {"the job is older than the request", Role::kCollector, {4098, 0}, false},
      {"it is a base replica", Role::kCollector, {0, 0}, false},
      {"it was a base replica", Role::kCollector, {1, 0}, true},
      {"it is the coordinator", Role::kCoordinator, {}, false},
      {"it is the job's aggregator", Role::kAggregator, {}, false},
      {"it is a multi-GPU learner's aggregator", Role::kAggregator, {4096, 0}, false},
      {"it is a multi-GPU learner's part", Role::kDdpLearner, {4097, 0}, false},
      {"a multi-GPU learner was removed", Role::kAggregator, {4098, 0}, true},
  }));
  INFO("when " << row.when);
  job::Job job = running_job(2, 0);
  job.spec.requests.entries = {testing::an_entry(1, Role::kCollector, 1),
                               testing::multi_gpu_entry(2, {4096}, {8, 2})};
  job.spec.requests.entries[0].slots[0].incarnation = 1;
  job.spec.requests.next_collector = 4098;
  job.spec.requests.next_learner = 4100;
  job.spec.requests.base = {{1, Role::kCollector, {1, 0}, true},
                            {0, Role::kCollector, {0, 0}, true}};  // of another attempt
  CHECK(Released(job).has(pod_of(job, row.role, row.slot)) == row.want);
}

TEST_CASE("while requests are lost, what they may have wanted is not given up",
          "[server][released]") {
  job::Job job = running_job();
  job.spec.requests.next_collector = 4100;  // of requests made since
  const kube::Pod pod = pod_of(job, Role::kCollector, {4096, 0});
  CHECK(Released(job).has(pod));
  job.status.conditions = {{"RequestsLost", true, "RequestsLost", "", {}, 0}};
  CHECK_FALSE(Released(job).has(pod));
}

}  // namespace nervex::server
