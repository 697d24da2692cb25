// controller/observe/watches.h - may a change of a pod wait for more of its kind?
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "controller/observe/caches.h"
#include "kube/api.h"
#include "kube/model/pod.h"
#include "kube/reflector.h"
#include "kube/work_queue.h"

namespace nervex::controller {

// True if at most counts follow from it: a worker or aggregator starts, runs, becomes ready or ends
// by itself. The pods of a gang do so one after the other, and each would cost the job a status
// write. What the coordinator does, and pods that have to be replaced, are looked at once.
bool can_be_coalesced(const kube::Pod& after);

// -- how do the caches stay current, and which job does a change concern?

// One reflector, so one thread, per kind, from start() until destruction. Each change puts the key
// of the owning job into the queue; a change of an AggregatorConfig or a PriorityClass those of all
// jobs.
class Watches {
 public:
  // What was there, what is there now; one of them may be null.
  template <typename T>
  using Changed =
      std::function<void(const std::shared_ptr<const T>&, const std::shared_ptr<const T>&)>;

  // Changes of pods that at most move counts come into the queue after `status_update_period`,
  // together.
  Watches(kube::Api& api, Caches& caches, kube::WorkQueue& queue,
          std::chrono::milliseconds status_update_period = std::chrono::milliseconds(200));
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  void start();
  // "" if all first lists are complete, else which one is not. Thread-safe.
  std::string not_synced() const;

  // For a new leader, since what the one before it wrote may not have come through our watches:
  // asks that every cache be brought up to date, and returns. Thread-safe.
  void refresh();
  // "" if nobody asked or all are up to date, else which one is not, and why. Thread-safe.
  std::string not_fresh() const;

 private:
  template <typename T>
  void add(kube::Api& api, const char* name, std::string path, kube::Store<T>& store,
           Result<T> (*decode)(std::string_view), Changed<T> changed);

  struct Watch {
    const char* name;
    std::unique_ptr<kube::Reflector> reflector;
  };
  std::vector<Watch> watches_;
};

}  // namespace nervex::controller
