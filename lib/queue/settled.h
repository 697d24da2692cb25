// queue/settled.h - how much do fully placed and committed workloads use?
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "queue/tree.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::queue {

// The queue in which a workload counts: that of its name. The root if there is none: see
// find_home() of queue/facts.h, by which names of deleted queues are replaced before.
QueueIndex find_home(const QueueTree& tree, const Workload& workload);

// Immutable: snapshots share it.
struct Settled {
  using Workloads = std::shared_ptr<const std::vector<Workload>>;
  std::shared_ptr<const QueueTree> tree = std::make_shared<const QueueTree>();
  std::vector<Workloads> groups{};  // by PodGroup, in no order
  Usage usage{*tree};               // sum over all groups
};

// Keeps a Settled up to date from changes. Reading it costs one pointer; the first change after a
// read copies the list, a pointer for each PodGroup, and the use of each queue. Not thread-safe.
class SettledWorkloads {
 public:
  // Replaces the PodGroup's workloads. Null or empty: it has no settled ones.
  void set(const std::string& group_uid, Settled::Workloads workloads);
  void erase(std::string_view group_uid);
  // Counts everything again. Cost: workloads.
  void set_tree(std::shared_ptr<const QueueTree> tree);
  const QueueTree& tree() const { return *now_->tree; }
  std::shared_ptr<const Settled> get() const {
    is_shared_ = true;
    return now_;
  }

 private:
  Settled& edit();

  std::shared_ptr<Settled> now_ = std::make_shared<Settled>();
  mutable bool is_shared_ = false;                         // other threads may read it
  std::map<std::string, std::size_t, std::less<>> index_;  // into Settled::groups
  std::vector<std::string> uids_;                          // of Settled::groups
};

}  // namespace nervex::queue
