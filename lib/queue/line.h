// queue/line.h - in which order are the workloads of one queue served?
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kube/model/resources.h"
#include "queue/queue.h"
#include "queue/share.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::queue {

// Elastic workloads come last. Then higher priority (but for FIFO); then, with fairUsers, the user
// who uses least of the queue now; then the longer wait, namespace, name and id: a total order.
//
// What gets nodes counts as use of its user at once, so that users take turns. Borrows all
// arguments; the order of `waiting` has no effect. Cost of a step: the logarithm of the number of
// users.
class Line {
 public:
  Line() = default;
  // `users`: what they use of the queue now.
  Line(const Queue& queue, const kube::Resources& capacity, const Usage::ByUser& users,
       std::vector<const Workload*> waiting);

  // The next workload; nullptr: all were served.
  const Workload* head() const;
  // The next one follows.
  void skip();
  // A workload of this queue has got nodes.
  void charge(const Workload& placed);

 private:
  // Workloads of one level and one user. Without fairUsers all of a level.
  struct Run {
    std::size_t next = 0;  // into waiting_
    std::size_t end = 0;
    std::string_view user;
    Fraction share;         // of the user
    std::size_t place = 0;  // in heap_
  };
  void open_level();
  bool is_before(const Run& a, const Run& b) const;
  void sift_down(std::size_t place);

  const kube::Resources* capacity_ = nullptr;
  bool has_fair_users_ = false;
  bool ignores_priority_ = false;
  Usage::ByUser users_;
  std::vector<const Workload*> waiting_;  // by level, run and age
  std::size_t next_level_ = 0;            // into waiting_
  std::vector<Run> runs_;                 // of the current level, by user
  std::vector<std::size_t> heap_;         // indices of those with workloads left, best first
};

// The order of service if every workload gets nodes in its turn. The exact position of a workload
// in its queue is its index here plus 1.
std::vector<const Workload*> serving_order(Line line);

// The position as a status says it: the largest of 1, 2, 3, 5, 10, 20, 50 and 100 that is not above
// it. So that not every waiting job is written when one starts.
int coarse_position(std::size_t position);

}  // namespace nervex::queue
