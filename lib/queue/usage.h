// queue/usage.h - how much does each queue use?
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kube/model/resources.h"
#include "queue/tree.h"
#include "queue/workload.h"

namespace nervex::queue {

struct ClassedResources {
  kube::Resources total;
  ClassRequests by_class;  // of what is on nodes with a class
  bool operator==(const ClassedResources&) const = default;
};

// What workloads with nodes use, of each queue with its parts. Kept up to date from changes: adding
// and removing in any order gives the same as counting again. Indices are those of the tree, which
// must be the same in all calls.
class Usage {
 public:
  using ByUser = std::map<std::string, kube::Resources, std::less<>>;

  explicit Usage(const QueueTree& tree) : queues_(tree.size()) {}

  // Cost: the queue's depth x resources. `classes`: what it uses on the nodes of each class.
  void add(const QueueTree& tree, QueueIndex queue, const Workload& workload,
           const ClassRequests& classes) {
    change_use(tree, queue, workload, classes, true);
  }
  void add(const QueueTree& tree, QueueIndex queue, const Workload& workload) {
    add(tree, queue, workload, workload.class_requests);
  }
  // Adds only what the workload, which starts when `others` have ended, uses beyond them: in each
  // queue of the path.
  void add_beyond(const QueueTree& tree, QueueIndex queue, const Workload& workload,
                  const Usage& others);
  void remove(const QueueTree& tree, QueueIndex queue, const Workload& workload) {
    change_use(tree, queue, workload, workload.class_requests, false);
  }
  // Workloads of the queue use other classes of nodes than before.
  void move(const QueueTree& tree, QueueIndex queue, const ClassRequests& from,
            const ClassRequests& to);

  // Counts against quota, share and limit.
  const ClassedResources& rigid(QueueIndex queue) const { return queues_[queue].rigid; }
  // Number of workloads, elastic ones included.
  std::int64_t workloads(QueueIndex queue) const { return queues_[queue].workloads; }
  // Counts against limits only.
  const ClassedResources& elastic(QueueIndex queue) const { return queues_[queue].elastic; }
  // Rigid use by workloads of the queue itself, without its parts.
  const kube::Resources& own(QueueIndex queue) const { return queues_[queue].own; }
  // The same by user; empty unless the queue says fairUsers.
  const ByUser& users(QueueIndex queue) const { return queues_[queue].users; }

  bool operator==(const Usage&) const = default;

 private:
  struct Use {
    ClassedResources rigid;
    ClassedResources elastic;
    kube::Resources own;
    ByUser users;
    std::int64_t workloads = 0;
    bool operator==(const Use&) const = default;
  };

  void change_use(const QueueTree& tree, QueueIndex queue, const Workload& workload,
                  const ClassRequests& classes, bool adds);

  std::vector<Use> queues_;  // by QueueIndex
};

}  // namespace nervex::queue
