// queue/backlog.h - which waiting workload is served next?
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "kube/model/resources.h"
#include "queue/admission.h"
#include "queue/inadmissible.h"
#include "queue/line.h"
#include "queue/share.h"
#include "queue/tree.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::queue {

// The order of one scheduling cycle:
//   1. workloads that keep a queue on their path within its quota, first those of the queue that
//      has used the smallest part of its quota
//   2. workloads beyond quota, first those of the queue with the lowest borrowed share
//   3. elastic workloads, in the order of 2
// Queues compete from the root down, each with the other parts of its parent, by the workload that
// it would serve next: a queue's own order is never changed to stay within its quota. Own workloads
// of a queue that has parts compete with these as one more part of weight 1, without quota. Ties:
// the queue with quota left, then the rank of the workload (queue/order.h).
//
// A workload that does not fit is skipped for this cycle; the next one of its queue follows. One
// that does not fit the node classes of a quota is deferred: it is offered once more without these
// caps when the queue has nothing more within quota. So a queue gets its quota of one class
// although its first job wants more of another.
//
//   while (const auto offer = backlog.next()) {
//     found ? backlog.place(classes) : backlog.skip();
//   }
//
// Cost: next() the depth of the queue, place() and skip() also the logarithm of the number of
// queues. Borrows all arguments but `usage`.
class Backlog {
 public:
  struct Offer {
    const Workload* workload = nullptr;
    bool is_within_quota = false;
    ClassCaps caps;
  };
  // A workload that cannot start in this cycle, even with free capacity.
  struct Held {
    const Workload* workload = nullptr;
    Inadmissible reason;
  };

  // `capacity`: of all nodes that workloads may use. Leaves out workloads that do not wait.
  Backlog(const QueueTree& tree, const kube::Resources& capacity, Usage usage,
          std::span<const Workload> waiting);

  // nullopt: nothing is left. Call place() or skip() before the next one.
  std::optional<Offer> next();
  // The offered workload has got nodes; `classes`: what it requests on nodes of each class.
  void place(const ClassRequests& classes = {});
  // It does not fit. It may be offered once more without the caps of a quota.
  void skip();

  const Usage& usage() const { return usage_; }
  // For changes of what runs, which affect later offers and not their order.
  Usage& edit_usage() { return usage_; }
  // In the order in which it was their turn.
  const std::vector<Held>& held() const { return held_; }

 private:
  // What a queue, or the own line of one with parts, would serve next, and when.
  struct Bid {
    enum class Phase { kWithinQuota, kBeyondQuota, kElastic };
    const Workload* workload = nullptr;  // nullptr: nothing
    QueueIndex home = kRoot;             // the workload's queue
    bool is_deferred = false;
    std::optional<QueueIndex> guarantor;  // the queue that the workload keeps within its quota
    Phase phase = Phase::kBeyondQuota;
    Fraction share;
    bool has_quota_left = false;
  };
  struct Node {
    Line line;
    // In front of what is left in the line, but offered after what is within quota.
    std::deque<const Workload*> deferred;
    // Queues at a smaller distance from this one were tried as guarantors of the line's head.
    std::size_t next_guarantor = 0;
    Bid own_bid;  // of the line and the deferred
    Bid bid;      // in the parent
    // Who bids here: parts of the queue, or its own index for its own workloads. A heap, best
    // first.
    std::vector<QueueIndex> bidders;
  };

  static bool is_before(const Bid& a, const Bid& b);
  const Bid& find_bid(QueueIndex queue, QueueIndex bidder) const;
  bool has_guarantor(QueueIndex home, const Workload& workload) const;
  void make_own_bid(QueueIndex queue);
  void make_bid(QueueIndex queue);
  void sift_down(QueueIndex queue, std::size_t at);
  void build(QueueIndex queue);
  void update_path();
  void drop_offered();

  const QueueTree& tree_;
  const kube::Resources& capacity_;
  Usage usage_;
  std::vector<Node> nodes_;  // by QueueIndex
  Bid offered_;              // the last one
  bool is_offered_with_quota_caps_ = false;
  std::vector<Held> held_;
};

}  // namespace nervex::queue
