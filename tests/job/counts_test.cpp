#include "job/counts.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "job/names.h"

namespace nervex::job {
namespace {

using kube::PodPhase;

kube::ContainerState ended(std::string name, int exit_code) {
  kube::ContainerState state;
  state.name = std::move(name);
  state.terminated = true;
  state.exit_code = exit_code;
  return state;
}

kube::ContainerState runs(std::string name) {
  kube::ContainerState state;
  state.name = std::move(name);
  return state;
}

kube::Pod a_pod(PodPhase phase, std::vector<kube::ContainerState> containers = {}) {
  kube::Pod pod;
  pod.meta.name = "p";
  pod.phase = phase;
  pod.containers = std::move(containers);
  return pod;
}

kube::Pod terminating(kube::Pod pod) {
  pod.meta.deleting = true;
  return pod;
}

kube::Pod evicted(kube::Pod pod) {
  pod.reason = "Evicted";
  return pod;
}

kube::Pod with_main(std::string name, kube::Pod pod) {
  pod.meta.annotations.emplace(kMainContainerAnnotation, std::move(name));
  return pod;
}

kube::Pod of_role(std::string_view role, kube::Pod pod, bool ready = false) {
  pod.meta.labels.emplace(kRoleLabel, role);
  pod.ready = ready;
  return pod;
}

TEST_CASE("the main container determines a pod's state", "[job][counts]") {
  struct Row {
    std::string when;
    kube::Pod pod;
    PodState want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing runs yet", a_pod(PodPhase::kPending), PodState::kPending},
      {"it runs", a_pod(PodPhase::kRunning, {runs("nervex-container")}), PodState::kRunning},
      {"its phase alone is known", a_pod(PodPhase::kSucceeded), PodState::kSucceeded},
      {"it failed", a_pod(PodPhase::kFailed), PodState::kFailed},
      {"its node does not answer", a_pod(PodPhase::kUnknown), PodState::kPending},
      {"a sidecar outlives a good end",
       a_pod(PodPhase::kRunning, {ended("nervex-container", 0), runs("sidecar")}),
       PodState::kSucceeded},
      {"a sidecar outlives a bad end",
       a_pod(PodPhase::kRunning, {ended("nervex-container", 1), runs("sidecar")}),
       PodState::kFailed},
      {"a sidecar ended before it",
       a_pod(PodPhase::kRunning, {runs("nervex-container"), ended("sidecar", 1)}),
       PodState::kRunning},
      {"a sidecar failed, it did not",
       a_pod(PodPhase::kFailed, {ended("nervex-container", 0), ended("sidecar", 137)}),
       PodState::kSucceeded},
      {"the kubelet stopped it, and it took that well",
       evicted(a_pod(PodPhase::kFailed, {ended("nervex-container", 0)})), PodState::kFailed},
      {"the main container has another name",
       with_main("train", a_pod(PodPhase::kRunning, {runs("a-sidecar"), ended("train", 0)})),
       PodState::kSucceeded},
      {"no container has the main name", a_pod(PodPhase::kRunning, {ended("train", 2)}),
       PodState::kFailed},
      {"it is being deleted", terminating(a_pod(PodPhase::kRunning)), PodState::kTerminating},
      {"it was deleted and ended because of that",
       terminating(a_pod(PodPhase::kRunning, {ended("nervex-container", 0)})),
       PodState::kTerminating},
  }));
  INFO("when " << row.when);
  CHECK(pod_state(row.pod) == row.want);
}

TEST_CASE("counts are by role and state", "[job][counts]") {
  const std::vector<kube::Pod> pods = {
      of_role("coordinator", a_pod(PodPhase::kRunning), true),
      of_role("aggregator", a_pod(PodPhase::kPending)),
      of_role("collector", a_pod(PodPhase::kRunning), true),
      of_role("collector", a_pod(PodPhase::kRunning)),
      of_role("collector", a_pod(PodPhase::kFailed)),
      of_role("collector", terminating(a_pod(PodPhase::kRunning)), true),
      of_role("learner", a_pod(PodPhase::kSucceeded)),
      of_role("ddp-learner", a_pod(PodPhase::kSucceeded)),
      of_role("visitor", a_pod(PodPhase::kRunning), true),
  };
  std::vector<const kube::Pod*> pointers;
  for (const auto& pod : pods) pointers.push_back(&pod);
  const Counts counts = count(pointers);
  CHECK(counts.coordinator == RoleCounts{1, 0, 0});
  CHECK(counts.aggregator == RoleCounts{0, 0, 0});
  CHECK(counts.collector == RoleCounts{2, 0, 1});
  CHECK(counts.learner == RoleCounts{0, 2, 0});
  CHECK(counts.ready == 2);
}

}  // namespace
}  // namespace nervex::job
