// controller/observe/watches.h - how do the caches stay current, and which job does a change
// concern?
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "controller/observe/caches.h"
#include "kube/cache/reflectors.h"
#include "kube/model/pod.h"
#include "kube/work_queue.h"

namespace nervex::controller {

// True if at most counts follow from it: a worker or aggregator starts, runs, becomes ready or ends
// by itself. The pods of a gang do so one after the other, and each would cost the job a status
// write. What the coordinator does, and pods that have to be replaced, are looked at once.
bool can_be_coalesced(const kube::Pod& after);

// Adds every kind of `caches`. Each change puts the key of the owning job into the queue; a change
// of an AggregatorConfig or a PriorityClass those of all jobs. Changes of pods that at most move
// counts come into the queue after `status_update_period`, together.
void add_watches(kube::Reflectors& watches, Caches& caches, kube::WorkQueue& queue,
                 std::chrono::milliseconds status_update_period = std::chrono::milliseconds(200));

}  // namespace nervex::controller
