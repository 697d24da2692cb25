// queue/queue.h - the Queue object as a value: what is a team guaranteed, and how is it served?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "kube/model/json.h"
#include "kube/model/label_selector.h"

namespace nervex::queue {

// The label by which a namespace chooses its queue.
inline constexpr std::string_view kQueueLabel = "nervex.sensetime.com/queue";

// The amounts of one resource that a quota or a limit names. Zero is an amount like others: a
// limit of 0 allows nothing.
struct ResourceBound {
  struct ClassAmount {
    std::string node_class;
    std::int64_t amount = 0;
    bool operator==(const ClassAmount&) const = default;
  };
  std::string resource;
  std::optional<std::int64_t> total;  // on all nodes together; nullopt: only the classes count
  std::vector<ClassAmount> classes;   // on nodes of one class, sorted by class
  bool operator==(const ResourceBound&) const = default;
};
using Bounds = std::vector<ResourceBound>;  // sorted by resource

// nullptr: the bounds do not name the resource.
const ResourceBound* find_bound(const Bounds& bounds, std::string_view resource);

// On all nodes together.
std::int64_t guaranteed_amount(const ResourceBound& quota);

struct Queue {
  enum class Order {
    kPriority,  // higher priority first, then the longer wait
    kFifo,      // the longer wait first
  };
  enum class Reclaim { kNever, kLowerPriority, kAny };
  enum class Preemption { kNever, kLowerPriority };
  enum class Stop {
    kNone,
    kHold,          // nothing starts; running workloads go on
    kHoldAndDrain,  // nothing starts; running workloads are requeued
  };
  std::string name;
  std::string parent;  // empty: the root
  // Which namespaces may use the queue. Absent in the object: those whose label kQueueLabel names
  // it.
  kube::LabelSelector namespace_selector;
  std::int64_t weight = 1;  // 1 to kMostWeight
  Bounds quota;             // guaranteed
  Bounds limit;             // never exceeded
  Order order = Order::kPriority;
  bool fair_users = false;  // of one priority, the user who uses least is served first
  // Whose workloads the queue may take while it is within quota, from queues above theirs.
  Reclaim reclaim = Reclaim::kNever;
  Preemption preemption = Preemption::kNever;  // within the queue
  std::int64_t min_runtime_seconds = 300;      // no workload is preempted before
  std::optional<std::int64_t> max_runtime_seconds;
  Stop stop = Stop::kNone;
  // Why the spec cannot be read: "spec.quota[0].resources: cpu: ...". Then nothing starts in the
  // queue; only parent and namespaceSelector are kept, as far as they can be read. Empty: it can.
  std::string unreadable{};
  std::string uid{};
  std::string resource_version{};
  std::int64_t generation = 0;
  std::vector<SysTime> preemptions{};  // of its status: queue/preemption.h
  bool operator==(const Queue&) const = default;
};
inline constexpr std::int64_t kMostWeight = 1'000'000;

// kInvalid: it has no name. For a wrong spec see Queue::unreadable: a queue that exists is not
// reported as missing.
Result<Queue> decode_queue(const Json& object);
// The same from JSON text.
Result<Queue> parse_queue(std::string_view json);

}  // namespace nervex::queue
