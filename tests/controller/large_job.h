// tests/controller/large_job.h - what does a round cost? A job with thousands of pods, as its
// controller sees it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "controller/decide/reconcile.h"
#include "controller/observe/stores.h"
#include "gang/slot.h"
#include "job/names.h"
#include "tests/support/job_builders.h"

namespace nervex::testing {

// Does the work of API server, planner and kubelet for all objects of an action at once.
class LargeJob {
 public:
  // The coordinator and `collectors` collectors that it requested; planned, no pod created yet.
  explicit LargeJob(int collectors) {
    seen.job = a_job(0, 0);
    seen.job.spec.collector = job::RoleSpec{a_template(), 0, 0, std::nullopt};
    seen.job.spec.requests.entries = {an_entry(1, job::Role::kCollector, collectors)};
    seen.job.spec.requests.next_collector = job::kFirstRequestedOrdinal + collectors;
    seen.server_url = "server:8080";
    seen.now = *parse_rfc3339("2026-11-21T10:00:00Z");
    while (seen.pod_groups.empty()) apply(controller::reconcile(seen).actions);
  }

  controller::Observed seen;

  // All pods exist and run, and there is nothing to do.
  void start() {
    settle();
    for (auto& pod : seen.pods) {
      kube::Pod running = *pod;
      running.node = "n1";
      running.phase = kube::PodPhase::kRunning;
      running.ready = true;
      pod = std::make_shared<const kube::Pod>(std::move(running));
    }
    settle();
  }

  // One collector has failed.
  void fail_one() {
    kube::Pod failed = *seen.pods.front();
    failed.phase = kube::PodPhase::kFailed;
    seen.pods.front() = std::make_shared<const kube::Pod>(std::move(failed));
  }

 private:
  void settle() {
    for (;;) {
      const auto actions = controller::reconcile(seen).actions;
      if (actions.empty()) return;
      apply(actions);
    }
  }

  void apply(const controller::Actions& actions) {
    for (const auto& action : actions) {
      if (const auto* update = std::get_if<controller::UpdateStatus>(&action)) {
        seen.job.status = update->status;
      } else if (const auto* group = std::get_if<controller::CreatePodGroup>(&action)) {
        plan(group->manifest);
      } else if (const auto* pods = std::get_if<controller::CreatePods>(&action)) {
        for (const auto& manifest : pods->manifests)
          add(seen.pods, controller::decode_pod, manifest);
      } else if (const auto* services = std::get_if<controller::CreateServices>(&action)) {
        for (const auto& manifest : services->manifests) {
          add(seen.services, controller::decode_service, manifest);
        }
      }
    }
    by_name(seen.pods);
    by_name(seen.services);
  }

  template <typename T, typename Decode>
  void add(controller::Ptrs<T>& objects, Decode decode, const Json& manifest) {
    T object = *decode(kube::to_text(manifest));
    object.meta.uid = "uid-" + object.meta.name;
    objects.push_back(std::make_shared<const T>(std::move(object)));
  }

  template <typename T>
  static void by_name(controller::Ptrs<T>& objects) {
    std::sort(objects.begin(), objects.end(),
              [](const auto& a, const auto& b) { return a->meta.name < b->meta.name; });
  }

  void plan(const Json& manifest) {
    gang::PodGroup group = *gang::decode_pod_group(manifest);
    group.meta.uid = "uid-group";
    group.meta.generation = group.status.observed_generation = 1;
    for (const auto& gang : group.spec.gangs) {
      gang::GangStatus status;
      status.name = gang.name;
      status.planned = status.committed = true;
      status.reason = gang::kReasonPlanned;
      for (const auto& set : gang.members) {
        for (const auto slot : set.slots) {
          status.placements.push_back({set.role, slot, "n1", group.status.next_placement++});
        }
      }
      group.status.gangs.push_back(std::move(status));
    }
    seen.pod_groups = {std::make_shared<const gang::PodGroup>(std::move(group))};
  }
};

}  // namespace nervex::testing
