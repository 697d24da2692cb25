// extender/act/simulator.h - how do Simulations get their answers, and when do they end?
#pragma once

#include <atomic>
#include <stop_token>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "extender/observe/parts/volumes.h"
#include "extender/observe/planner_cache.h"
#include "gang/pod_group.h"
#include "kube/api.h"
#include "kube/cache/store.h"
#include "kube/work_queue.h"
#include "planner/recovery/healing.h"
#include "planner/simulation/simulation.h"
#include "planner/simulation/what_if.h"

namespace nervex::extender {

// Answers one Simulation after the other on a thread of its own: a scheduling cycle never waits for
// one, except for the time that a snapshot takes. On the leader only.
class Simulator {
 public:
  // `aggregator_config`: "namespace/name".
  Simulator(kube::Api& api, const PlannerCache& cache, const kube::Store<gang::PodGroup>& groups,
            const VolumeStores& volumes, kube::Store<planner::Simulation>& simulations,
            const Clock& clock, planner::CycleOptions options, std::string aggregator_config)
      : api_(api),
        cache_(cache),
        groups_(groups),
        volumes_(volumes),
        simulations_(simulations),
        clock_(clock),
        options_(options),
        aggregator_config_(std::move(aggregator_config)),
        queue_(clock) {}
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // The Simulation "namespace/name" has changed. Thread-safe. Does nothing before run(), which
  // looks at all that exist.
  void look_at(const std::string& key) {
    if (is_running_) queue_.add(key);
  }
  // Until `stop`; all caches must be current. On one thread.
  void run(const std::stop_token& stop);
  // One Simulation: answers it, deletes it at its end, or does nothing. Called by run() and by
  // tests. An Error: try again.
  Result<Nothing> process(const std::string& key);
  const kube::WorkQueue& queue() const { return queue_; }

 private:
  // Reads its question. kNotFound: it was deleted.
  Result<planner::Answer> answer(const planner::Simulation& simulation);
  Result<planner::Answer> answer(const planner::Question& question);
  Result<planner::Candidate> find_candidate(const planner::Question& question,
                                            const planner::Snapshot& snapshot);
  Result<gang::PodGroupPtr> find_job(const planner::Question& question,
                                     const planner::Snapshot& snapshot) const;
  Result<planner::Candidate> read_job(const planner::Question& question);
  Result<Nothing> write(const planner::Simulation& simulation, const planner::Answer& answer);
  // Others of its namespace were created before it and wait, too many to be answered.
  bool is_one_too_many(const planner::Simulation& simulation) const;
  Result<Nothing> remove(const planner::Simulation& simulation);
  // A namespace keeps a few: the oldest that have been answered are deleted.
  void remove_surplus(const std::string& ns);

  kube::Api& api_;
  const PlannerCache& cache_;
  const kube::Store<gang::PodGroup>& groups_;
  const VolumeStores& volumes_;
  kube::Store<planner::Simulation>& simulations_;
  const Clock& clock_;
  const planner::CycleOptions options_;
  const std::string aggregator_config_;
  kube::WorkQueue queue_;
  std::atomic<bool> is_running_ = false;
};

}  // namespace nervex::extender
