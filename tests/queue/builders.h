// tests/queue/builders.h - how do tests of queues build trees and workloads?
#pragma once

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "queue/settled.h"
#include "queue/tree.h"
#include "queue/workload.h"

namespace nervex::testing {

inline unsigned below(std::mt19937& rng, unsigned count) {
  return static_cast<unsigned>(rng() % count);
}

inline const std::string kGpu = "nvidia.com/gpu";

inline queue::Queue a_queue(std::string name, std::string parent = "") {
  queue::Queue queue;
  queue.name = std::move(name);
  queue.parent = std::move(parent);
  queue.namespace_selector = {{{std::string(queue::kQueueLabel), {}, {queue.name}}}};
  return queue;
}
inline queue::Queue with_weight(queue::Queue queue, std::int64_t weight) {
  queue.weight = weight;
  return queue;
}
inline queue::Queue with_quota(queue::Queue queue, std::int64_t gpus) {
  queue.quota = {{kGpu, gpus, {}}};
  return queue;
}
inline queue::Queue with_quota(queue::Queue queue,
                               std::vector<queue::ResourceBound::ClassAmount> classes) {
  queue.quota = {{kGpu, std::nullopt, std::move(classes)}};
  return queue;
}
inline queue::Queue with_limit(queue::Queue queue, std::int64_t gpus) {
  queue.limit = {{kGpu, gpus, {}}};
  return queue;
}
inline queue::Queue with_limit(queue::Queue queue,
                               std::vector<queue::ResourceBound::ClassAmount> classes) {
  queue.limit = {{kGpu, std::nullopt, std::move(classes)}};
  return queue;
}
inline queue::Queue with_stop(queue::Queue queue, queue::Queue::Stop stop) {
  queue.stop = stop;
  return queue;
}

inline queue::QueueTree a_tree(std::vector<queue::Queue> queues) {
  std::vector<queue::QueuePtr> shared;
  for (queue::Queue& queue : queues)
    shared.push_back(std::make_shared<const queue::Queue>(std::move(queue)));
  return queue::QueueTree(std::move(shared));
}
inline queue::QueueIndex at(const queue::QueueTree& tree, std::string_view name) {
  return *tree.find(name);
}

inline SysTime at_second(std::int64_t second) { return SysTime(std::chrono::seconds(second)); }

// Waits since `since`; its job has the name.
inline queue::Workload queued(std::string queue, std::string name, std::int64_t gpus,
                              std::int64_t since = 0, int priority = 0) {
  queue::Workload workload;
  workload.id = "uid-" + name + "/base";
  workload.ns = "rl";
  workload.name = std::move(name);
  workload.queue = std::move(queue);
  workload.requests = {{kGpu, gpus}};
  workload.queued_since = at_second(since);
  workload.priority = priority;
  return workload;
}
inline queue::Workload by_user(queue::Workload workload, std::string user) {
  workload.user = std::move(user);
  return workload;
}
inline queue::Workload elastic(queue::Workload workload) {
  workload.is_elastic = true;
  return workload;
}
// As SettledWorkloads takes them.
inline queue::Settled::Workloads share(std::vector<queue::Workload> workloads) {
  return std::make_shared<const std::vector<queue::Workload>>(std::move(workloads));
}
// Has nodes of that class for all of its pods.
inline queue::Workload running_on(queue::Workload workload, const std::string& node_class) {
  workload.state = queue::Workload::State::kRunning;
  workload.class_requests[node_class] = workload.requests;
  return workload;
}

}  // namespace nervex::testing
