#include "controller/observe/watches.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "job/names.h"

namespace nervex::controller {
namespace {

using kube::PodPhase;

TEST_CASE("only what moves counts may wait", "[controller][urgency]") {
  struct Row {
    std::string when;
    std::string role;
    PodPhase phase;
    bool deleting;
    bool disrupted;
    bool want;
  };
  const auto row = GENERATE(values<Row>({
      {"a worker was created", "collector", PodPhase::kPending, false, false, true},
      {"a worker runs", "learner", PodPhase::kRunning, false, false, true},
      {"the aggregator runs", "aggregator", PodPhase::kRunning, false, false, true},
      {"the coordinator runs", "coordinator", PodPhase::kRunning, false, false, false},
      {"a worker ended", "collector", PodPhase::kSucceeded, false, false, true},
      {"a worker failed", "collector", PodPhase::kFailed, false, false, true},
      {"a worker was evicted", "collector", PodPhase::kFailed, false, true, false},
      {"the coordinator ended", "coordinator", PodPhase::kSucceeded, false, false, false},
      {"a worker goes", "collector", PodPhase::kRunning, true, false, false},
      {"a worker is about to go", "collector", PodPhase::kRunning, false, true, false},
  }));
  INFO("when " << row.when);
  kube::Pod pod;
  pod.meta.labels = {{std::string(job::kRoleLabel), row.role}};
  pod.meta.deleting = row.deleting;
  pod.phase = row.phase;
  pod.disruption_target = row.disrupted;
  CHECK(can_be_coalesced(pod) == row.want);
}

}  // namespace
}  // namespace nervex::controller
