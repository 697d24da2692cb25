// tests/queue/toy_cluster.h - a cluster without nodes: what does a cycle of the queue start?
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "queue/backlog.h"
#include "tests/queue/builders.h"

namespace nervex::testing {

struct Cycle {
  std::vector<const queue::Workload*> placed;  // in order
  std::vector<const queue::Workload*> offered;
  std::vector<queue::Backlog::Held> held;
  queue::Usage usage;
};

// Places what fits into `capacity`, less what `usage` has.
inline Cycle run_cycle(const queue::QueueTree& tree, const queue::Usage& usage,
                       const kube::Resources& capacity, std::span<const queue::Workload> waiting) {
  kube::Resources free = capacity;
  free -= usage.rigid(queue::kRoot).total;
  free -= usage.elastic(queue::kRoot).total;
  queue::Backlog backlog(tree, capacity, usage, waiting);
  Cycle cycle{{}, {}, {}, usage};
  while (const auto offer = backlog.next()) {
    cycle.offered.push_back(offer->workload);
    if (!offer->workload->requests.fits_in(free)) {
      backlog.skip();
      continue;
    }
    free -= offer->workload->requests;
    cycle.placed.push_back(offer->workload);
    backlog.place();
  }
  cycle.held = backlog.held();
  cycle.usage = backlog.usage();
  return cycle;
}
inline Cycle run_cycle(const queue::QueueTree& tree, const queue::Usage& usage, std::int64_t gpus,
                       std::span<const queue::Workload> waiting) {
  return run_cycle(tree, usage, kube::Resources{{kGpu, gpus}}, waiting);
}

inline std::vector<std::string> names(const std::vector<const queue::Workload*>& workloads) {
  std::vector<std::string> out;
  for (const queue::Workload* workload : workloads) out.push_back(workload->name);
  return out;
}

// `count` waiting workloads of one size, named <queue>-<n>.
inline void add_backlog(std::vector<queue::Workload>& waiting, const std::string& queue, int count,
                        std::int64_t gpus, std::int64_t since = 0) {
  for (int i = 0; i < count; ++i) {
    waiting.push_back(queued(queue, queue + "-" + std::to_string(i), gpus, since + i));
  }
}

inline std::int64_t used_gpus(const queue::QueueTree& tree, const queue::Usage& usage,
                              std::string_view queue) {
  return usage.rigid(at(tree, queue)).total.get(kGpu);
}

}  // namespace nervex::testing
