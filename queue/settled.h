// queue/settled.h - how much do fully placed and committed workloads use?
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/model/resources.h"
#include "queue/workload.h"

namespace nervex::queue {

// Immutable: snapshots share it.
struct Settled {
  using Workloads = std::shared_ptr<const std::vector<Workload>>;
  std::vector<Workloads> groups;                            // by PodGroup, in no order
  std::map<std::string, kube::Resources, std::less<>> use;  // by namespace, sum over all groups
};

// Keeps a Settled up to date from changes. Reading it costs one pointer; the first change after a
// read copies the list, a pointer for each PodGroup. Not thread-safe.
class SettledWorkloads {
 public:
  // Replaces the PodGroup's workloads. Empty: it has no settled ones.
  void set(const std::string& group_uid, std::vector<Workload> workloads);
  void erase(std::string_view group_uid);
  std::shared_ptr<const Settled> get() {
    is_shared_ = true;
    return now_;
  }

 private:
  Settled& edit();

  std::shared_ptr<Settled> now_ = std::make_shared<Settled>();
  bool is_shared_ = false;                                 // other threads may read it
  std::map<std::string, std::size_t, std::less<>> index_;  // into Settled::groups
  std::vector<std::string> uids_;                          // of Settled::groups
};

}  // namespace nervex::queue
