// extender/act/simulator.h - how do Simulations get their answers, and when do they end?
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "extender/observe/planner_cache.h"
#include "extender/recovery/healing.h"
#include "extender/simulation/simulation.h"
#include "extender/simulation/what_if.h"
#include "gang/pod_group.h"
#include "kube/api.h"
#include "kube/cache/store.h"
#include "kube/work_queue.h"

namespace nervex::extender {

// Answers one Simulation after the other on a thread of its own: a scheduling cycle never waits for
// one, except for the time that a snapshot takes. On the leader only.
class Simulator {
 public:
  // `aggregator_config`: "namespace/name".
  Simulator(kube::Api& api, const PlannerCache& cache, const kube::Store<gang::PodGroup>& groups,
            kube::Store<Simulation>& simulations, const Clock& clock, HealingOptions healing,
            std::string aggregator_config)
      : api_(api),
        cache_(cache),
        groups_(groups),
        simulations_(simulations),
        clock_(clock),
        healing_(healing),
        aggregator_config_(std::move(aggregator_config)),
        queue_(clock) {}
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // The Simulation "namespace/name" has changed. Thread-safe.
  void look_at(const std::string& key) { queue_.add(key); }
  // Until `stop`; all caches must be current. On one thread.
  void run(const std::stop_token& stop);
  // One Simulation: answers it, deletes it at its end, or does nothing. Called by run() and by
  // tests. An Error: try again.
  Result<Nothing> process(const std::string& key);
  const kube::WorkQueue& queue() const { return queue_; }

 private:
  Result<Answer> answer(const Simulation& simulation);
  Result<gang::PodGroup> find_job(const Simulation& simulation) const;
  // kInvalid: the question has no answer. Other errors: try again.
  Result<WhatIf> make_question(const Simulation& simulation);
  Result<Nothing> remove(const Simulation& simulation);
  // A namespace keeps a few: the oldest that have been answered are deleted.
  void remove_surplus(const std::string& ns);

  kube::Api& api_;
  const PlannerCache& cache_;
  const kube::Store<gang::PodGroup>& groups_;
  kube::Store<Simulation>& simulations_;
  const Clock& clock_;
  const HealingOptions healing_;
  const std::string aggregator_config_;
  kube::WorkQueue queue_;
};

}  // namespace nervex::extender
