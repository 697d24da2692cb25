// tests/controller/cluster.h - how do tests run a controller without threads on a cluster with a
// job?
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "controller/act/dry_run.h"
#include "controller/act/endpoint_slices.h"
#include "controller/worker.h"
#include "job/types.h"
#include "tests/cluster/cluster.h"

namespace nervex::testing {

inline constexpr const char* kJobKey = "rl/dqn";

// The parts that end with the process.
struct Process {
  Process(kube::Api& api, const Clock& clock, bool shared_services = false,
          std::chrono::milliseconds status_update_period = std::chrono::milliseconds(0),
          bool direct_placement = false);

  controller::Stores stores;
  controller::Queues queues;
  kube::EventRecorder events;
  controller::WritePool pool;  // one write at a time, so that faults are repeatable
  controller::Performer performer;
  controller::Worker worker;
  controller::EndpointSliceWriter slices;  // without a thread, like the next
  controller::PodDryRuns dry_runs;         // tests say when it answers
};

class ControllerCluster : public Cluster {
 public:
  explicit ControllerCluster(bool has_shared_services = false);

  const bool shared_services;     // --services=shared
  bool direct_placement = false;  // --direct-placement, of the next process
  std::unique_ptr<Process> controller;

  // A new process whose caches are empty at first, then filled.
  void restart();
  // Fills the caches from the API server: all watches have caught up.
  void sync();
  // The same for the kinds whose bit is set (1 jobs, 2 pods, 4 services, 8 PodGroups): the other
  // caches stay stale.
  void sync_some(unsigned kinds);
  // sync() and process() until a round sends no requests; the number of rounds that did, or -1
  // after 50.
  int settle();

  // The job rl/dqn with that many base replicas, as a user would create it.
  void create_job(int collectors, int learners);
  void change_spec(const Json& spec);  // a merge patch of its spec
  job::Job job() const;
  std::vector<std::string> names(const kube::ResourceKind& kind) const;
  std::vector<std::string> event_reasons() const;

  // The controller settles; its pods are planned, created and run; and it settles again.
  void plan_and_run();

  // ---- scheduling and kubelets
  // Plans every gang of every PodGroup without a plan; commits the base gang with it if the
  // PodGroup asks for direct placement.
  void plan();
  void run_pods();  // commits all planned gangs, binds and starts all pods

 private:
  void change_groups(void (*change)(gang::PodGroup&));  // their status
};

// The job dqn runs: coordinator and one collector.
struct RunningCluster : ControllerCluster {
  RunningCluster() {
    create_job(1, 0);
    plan_and_run();
  }
};

}  // namespace nervex::testing
