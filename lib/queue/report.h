// queue/report.h - what does the status of a Queue say? Values and their JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/model/json.h"
#include "kube/model/resources.h"
#include "queue/facts.h"
#include "queue/share.h"
#include "queue/tree.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::queue {

// One queue at one time. Counts and amounts include its parts.
struct Report {
  struct Head {
    SysTime since{};  // queued_since
    int priority = 0;
    std::string id{};  // Workload::id
    // It is the head at least since then, as the reports of one process show; not in the status.
    SysTime is_head_since{};
    bool operator==(const Head&) const = default;
  };
  std::string queue;
  std::string uid;
  std::int64_t generation = 0;
  std::int64_t pending = 0;  // workloads that wait
  std::int64_t running = 0;  // workloads that have nodes
  kube::Resources use;
  kube::Resources borrowed;
  Fraction share;                       // borrowed, over the weight
  std::optional<Head> head;             // the workload of the queue itself that is served next
  std::optional<Inadmissible> problem;  // why nothing can start
  std::vector<SysTime> preemptions{};   // that its workloads started by lately: queue/preemption.h
  std::int64_t ambiguous = 0;  // namespaces that it and another queue select, and that name neither
  bool operator==(const Report&) const = default;
};

// In the order of the tree, without the root. `waiting`: every workload that waits, with the name
// of its queue. Cost: queues x depth, workloads x depth, and namespaces x queues.
std::vector<Report> report_queues(const Facts& facts, const Usage& usage,
                                  const kube::Resources& capacity,
                                  std::span<const Workload> waiting);

// As status of a Queue. `before`: the stored status, whose conditions keep the time of their last
// transition.
Json encode_status(const Report& report, const Json& before, SysTime now);

}  // namespace nervex::queue
