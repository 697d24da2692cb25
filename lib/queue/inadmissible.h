// queue/inadmissible.h - why may a workload not start in its queue? A code with its parameters.
//
// Reasons of the queues alone: why a workload does not fit into the cluster is gang/no_fit.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "gang/no_fit.h"

namespace nervex::queue {

// The job or its namespace names a queue that does not exist.
struct QueueNotFound {
  std::string queue;
  bool operator==(const QueueNotFound&) const = default;
};

// The object of the queue, or of one that it is a part of, has a spec that cannot be read.
struct QueueUnreadable {
  std::string queue;
  std::string why;  // names the field
  bool operator==(const QueueUnreadable&) const = default;
};

// The job or its namespace names a queue whose namespaceSelector does not match the namespace.
struct NamespaceNotSelected {
  std::string queue;
  std::string ns;
  bool operator==(const NamespaceNotSelected&) const = default;
};

// There are queues, and the labels of the namespace are not known yet.
struct NamespaceNotSeen {
  std::string ns;
  bool operator==(const NamespaceNotSeen&) const = default;
};

// Several queues select the namespace, and neither the job nor the namespace names one.
struct QueueAmbiguous {
  std::string ns;
  std::vector<std::string> queues;  // sorted
  bool operator==(const QueueAmbiguous&) const = default;
};

// The queue, or one that it is a part of, names a parent that does not exist. Its limits are
// unknown.
struct ParentNotFound {
  std::string queue;  // the one that names the parent
  std::string parent;
  bool operator==(const ParentNotFound&) const = default;
};

// The queue is, or is a part of, a queue that is its own ancestor.
struct QueueCycle {
  std::vector<std::string> queues;  // each is a part of the next, the last of the first
  bool operator==(const QueueCycle&) const = default;
};

// An administrator stopped the queue or one that it is a part of.
struct QueueStopped {
  std::string queue;  // the one that is stopped
  bool operator==(const QueueStopped&) const = default;
};

// The workload would exceed a limit of the queue or of one that it is a part of.
struct LimitExceeded {
  std::string queue;  // the one with the limit
  std::string resource;
  std::int64_t limit = 0;
  std::int64_t used = 0;  // by the queue and its parts, planned pods included
  std::int64_t need = 0;
  bool operator==(const LimitExceeded&) const = default;
};

// A part of the limit of the queue, of one that it is a part of, or of the namespace is kept for a
// workload that is served before this one and has waited long
// (planner/steps/limit_shares.h).
struct LimitKept {
  std::string queue;  // the one with the limit; empty: it is the limit of a ResourceQuota
  std::string quota;  // its name
  std::string resource;
  std::int64_t left = 0;  // beside what is kept
  std::int64_t need = 0;
  std::optional<SysTime> until{};  // what ends before that may start; nullopt: nothing
  bool operator==(const LimitKept&) const = default;
};

// The workload would fit the cluster, but not the nodes of the classes that the limits of the
// queue, and of those that it is a part of, leave.
struct NodeClassLimit {
  struct Left {
    std::string node_class;
    std::int64_t amount = 0;
    bool operator==(const Left&) const = default;
  };
  std::string queue;  // the workload's
  std::string resource;
  std::vector<Left> left;  // sorted by class
  bool operator==(const NodeClassLimit&) const = default;
};

using Inadmissible = std::variant<QueueNotFound, QueueUnreadable, NamespaceNotSelected,
                                  NamespaceNotSeen, QueueAmbiguous, ParentNotFound, QueueCycle,
                                  QueueStopped, LimitExceeded, NodeClassLimit, LimitKept>;

std::string_view code(const Inadmissible& reason);  // "QueueNotFound"
// As a gang's status has it.
gang::NotAdmitted describe(const Inadmissible& reason);
// One sentence for people, without a full stop: what is wrong, and who can change it.
std::string explain(const Inadmissible& reason);
// Equal but for amounts, which change with every workload.
bool same_cause(const Inadmissible& a, const Inadmissible& b);

}  // namespace nervex::queue
