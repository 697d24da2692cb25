// tests/extender/limited_cluster.h - a cluster whose only queue has a limit.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <string>
#include <vector>

#include "tests/extender/cluster.h"
#include "tests/queue/builders.h"

namespace nervex::testing {

// A node with 8 GPUs. Queue "team" has a limit of 4 of them, and the namespace is its.
struct LimitedCluster : ExtenderCluster {
  kube::Store<kube::ForeignPodGroup> foreign_groups;
  queue::NamespacePtr ns;

  LimitedCluster() {
    add_node("n1", 8);
    set_queue(nullptr, with_limit(a_queue("team"), 4));
    set_namespace_queue("team");
  }
  // Returns the new one.
  queue::QueuePtr set_queue(const queue::QueuePtr& before, queue::Queue after) {
    auto made = std::make_shared<const queue::Queue>(std::move(after));
    cache.updates.queue_changed(before, made);
    return made;
  }
  void remove_queue(const std::string& name) {
    cache.updates.queue_changed(std::make_shared<const queue::Queue>(a_queue(name)), nullptr);
  }
  // "": by no label.
  void set_namespace_queue(const std::string& name) {
    auto made = std::make_shared<kube::Namespace>();
    made->meta.name = kNs;
    if (!name.empty()) made->meta.labels = {{queue::kQueueLabel, name.c_str()}};
    cache.updates.namespace_changed(ns, made);
    ns = made;
  }
  // A gang whose pods are bound; their names. Its PodGroup says so.
  std::vector<std::string> run_all(const std::string& name, int count, int gpus) {
    add_group(name, {a_set("learner", count, ask(gpus))});
    std::vector<std::string> names = plan_and_add_pods(name);
    for (const std::string& pod : names) REQUIRE(bind(pod, "n1").empty());
    see();
    return names;
  }
  // The same with one pod.
  std::string run(const std::string& name, int gpus) { return run_all(name, 1, gpus).at(0); }
  void add_foreign_group() {
    api.add(kube::kForeignPodGroups, kNs,
            {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
             {"kind", "PodGroup"},
             {"metadata", {{"name", "foreign"}, {"namespace", kNs}}},
             {"spec", {{"minMember", 1}}}});
  }
  void add_foreign_pod() {
    api.add(kube::kPods, kNs,
            {{"apiVersion", "v1"},
             {"kind", "Pod"},
             {"metadata",
              {{"name", "foreign-0"},
               {"namespace", kNs},
               {"labels", {{kube::kForeignGroupLabel, "foreign"}}}}},
             {"spec",
              {{"schedulerName", "nervex-scheduler"},
               {"nodeName", "n1"},
               {"containers",
                Json::array({{{"name", "main"},
                              {"resources", {{"requests", {{"nvidia.com/gpu", "4"}}}}}}})}}}});
  }
  void see_foreign_groups() {
    const auto sink = foreign_group_sink(foreign_groups, cache.updates, holds, planner);
    sink.begin_list();
    for (const Json& one : api.list(kube::kForeignPodGroups)) (void)sink.upsert(kube::to_text(one));
    sink.end_list(std::to_string(api.resource_version()));
  }
  // Why a gang of so many GPUs waits.
  std::string reason_of_next(int gpus = 4) {
    if (api.get(kube::kPodGroups, kNs, "next").is_null()) {
      add_group("next", {a_set("learner", 1, ask(gpus))});
    }
    see();
    planner.schedule_once();
    see();
    return group("next").status.gangs.at(0).reason;
  }
  planner::Snapshot snapshot() { return cache.planner.snapshot(); }
};

}  // namespace nervex::testing
