// queue/settled.h - what do the workloads use that are placed and committed as a whole?
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/model/resources.h"
#include "queue/workload.h"

namespace nervex::queue {

// A value that does not change: snapshots share it.
struct Settled {
  using Workloads = std::shared_ptr<const std::vector<Workload>>;
  std::vector<Workloads> groups;                            // by PodGroup, in no order
  std::map<std::string, kube::Resources, std::less<>> use;  // by namespace, of all of them
};

// Keeps a Settled up to date from changes. Taking it costs one pointer; the first change after that
// costs a copy of the list, a pointer for each PodGroup. Not thread-safe.
class SettledWorkloads {
 public:
  // In the place of those that the PodGroup had. None: it has nothing that is settled.
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
