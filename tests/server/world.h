// tests/server/world.h - nervex-server's parts on an API server in memory, with one running job.
#pragma once

#include <string>

#include "job/pod_manifest.h"
#include "server/replicas.h"
#include "server/stores.h"
#include "tests/server/builders.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"

namespace nervex::server {

// rl/dqn runs in attempt 1 with its coordinator. The caches hold what the last sync() read, so a
// test decides how stale they are.
struct World {
  testing::FakeApi api;
  Stores stores;
  testing::FakeClock clock;
  Replicas replicas{api, stores, clock};

  World() {
    Json job = api.add(kube::kNervexJobs, "rl", job_json());
    group_uid = kube::string_at(api.add(kube::kPodGroups, "rl", group_json()), {"metadata", "uid"});
    add_pod(job::Role::kCoordinator, {});
    sync();
  }

  job::Job job() const { return *job::decode_job(job_now()); }
  Json job_now() const { return api.get(kube::kNervexJobs, "rl", "dqn"); }
  Json requests_now() const { return job_now()["spec"].value("requests", Json()); }
  void change_job(const Json& patch) { api.change(kube::kNervexJobs, "rl", "dqn", patch); }

  // Creates the running pod as the controller would; returns its name.
  std::string add_pod(job::Role role, job::Slot slot) {
    job::PodOrder order;
    order.role = role;
    order.slot = slot;
    order.annotations = gang::annotations_for(
        {group_uid, std::string(to_string(role)), {slot.ordinal, slot.incarnation}, 1});
    Json pod = job::pod_manifest(job(), order, {});
    pod["status"]["phase"] = "Running";
    return kube::string_at(api.add(kube::kPods, "rl", pod), {"metadata", "name"});
  }

  // Adds a node with this many GPUs, and an AggregatorConfig with this port.
  void surround_with(int gpus, int port) {
    stores.gpu_nodes.put("n1", {"n1", "uid-n1", "1", gpus, false});
    AggregatorConfig config;
    config.port = port;
    config.meta.ns = "nervex-system";
    config.meta.name = "aggregator-config";
    stores.aggregator_configs.put(config.meta.key(), config);
  }

  // Fills the caches from the API server.
  void sync() { fill(stores); }
  // Fills those of another server on the same API server.
  void fill(Stores& others) const {
    refill(others.pods, kube::kPods, decode_pod);
    refill(others.jobs, kube::kNervexJobs, job::parse_job);
    refill(others.groups, kube::kPodGroups, gang::parse_pod_group);
  }

  std::string group_uid;

 private:
  static Json job_json() {
    const Json tmpl = testing::a_template();
    return {{"apiVersion", job::kApiVersion},
            {"kind", job::kKind},
            {"metadata", {{"name", "dqn"}}},
            {"spec",
             {{"coordinator", {{"template", tmpl}}},
              {"collector", {{"template", tmpl}}},
              {"learner", {{"template", tmpl}}}}},
            {"status", {{"phase", "Running"}, {"attempt", 1}}}};
  }

  static Json group_json() {
    return {{"apiVersion", gang::kApiVersion},
            {"kind", gang::kKind},
            {"metadata", {{"name", "dqn-1"}}},
            {"spec", {{"attempt", 1}, {"gangs", Json::array()}}}};
  }

  template <typename T>
  void refill(kube::Store<T>& store, const kube::ResourceKind& kind,
              Result<T> (*decode)(std::string_view)) const {
    for (const auto& key : store.keys()) store.erase(key);
    for (const auto& object : api.list(kind)) {
      T value = *decode(kube::to_text(object));
      const std::string key = value.meta.key();
      store.put(key, std::move(value));
    }
  }
};

}  // namespace nervex::server
