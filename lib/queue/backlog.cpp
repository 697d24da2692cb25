#include "queue/backlog.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "queue/order.h"

namespace nervex::queue {

Backlog::Backlog(const QueueTree& tree, const kube::Resources& capacity, Usage usage,
                 std::span<const Workload> waiting)
    : tree_(tree), capacity_(capacity), usage_(std::move(usage)), nodes_(tree.size()) {
  std::vector<std::vector<const Workload*>> lines(tree.size());
  for (const Workload& workload : waiting) {
    if (workload.state != Workload::State::kWaiting) continue;
    if (const auto queue = tree.find(workload.queue)) {
      lines[*queue].push_back(&workload);
    } else {
      held_.push_back({&workload, QueueNotFound{workload.queue}});
    }
  }
  for (QueueIndex queue = kRoot; queue < tree.size(); ++queue) {
    if (lines[queue].empty()) continue;
    nodes_[queue].line = Line(tree[queue], capacity, usage_.users(queue), std::move(lines[queue]));
  }
  build(kRoot);
}

bool Backlog::is_before(const Bid& a, const Bid& b) {
  if (a.phase != b.phase) return a.phase < b.phase;
  if (const auto order = a.share <=> b.share; order != 0) return order < 0;
  if (a.has_quota_left != b.has_quota_left) return a.has_quota_left;
  if (const auto order = rank(*a.workload) <=> rank(*b.workload); order != 0) return order < 0;
  return std::tie(a.workload->position, a.workload->id) <
         std::tie(b.workload->position, b.workload->id);
}

const Backlog::Bid& Backlog::find_bid(QueueIndex queue, QueueIndex bidder) const {
  return bidder == queue ? nodes_[queue].own_bid : nodes_[bidder].bid;
}

// One of the queues on the path that were not tried yet.
bool Backlog::has_guarantor(QueueIndex home, const Workload& workload) const {
  std::size_t distance = 0;
  for (QueueIndex queue = home; queue != kRoot; queue = tree_.parent(queue), ++distance) {
    if (distance >= nodes_[home].next_guarantor && fits_quota(tree_, usage_, queue, workload)) {
      return true;
    }
  }
  return false;
}

void Backlog::make_own_bid(QueueIndex queue) {
  Node& node = nodes_[queue];
  Bid& bid = node.own_bid = Bid{};
  bid.workload = node.line.head();
  if (!node.deferred.empty() && (bid.workload == nullptr || !has_guarantor(queue, *bid.workload))) {
    bid.workload = node.deferred.front();
    bid.is_deferred = true;
  }
  if (bid.workload == nullptr) return;
  bid.home = queue;
  if (bid.workload->is_elastic) bid.phase = Bid::Phase::kElastic;
  const bool has_parts = !tree_.children(queue).empty();
  if (has_parts) bid.share = dominant_share(usage_.own(queue), capacity_);
}

// The bid of its best bidder, as the parent sees it.
void Backlog::make_bid(QueueIndex queue) {
  Node& node = nodes_[queue];
  if (node.bidders.empty()) {
    node.bid = Bid{};
    return;
  }
  node.bid = find_bid(queue, node.bidders.front());
  if (queue == kRoot) return;  // it competes with nothing
  const Workload& workload = *node.bid.workload;
  const std::size_t distance = tree_.depth(node.bid.home) - tree_.depth(queue);
  if (!node.bid.guarantor && !node.bid.is_deferred &&
      distance >= nodes_[node.bid.home].next_guarantor &&
      fits_quota(tree_, usage_, queue, workload)) {
    node.bid.guarantor = queue;
    node.bid.phase = Bid::Phase::kWithinQuota;
  }
  node.bid.share = node.bid.guarantor ? used_quota(tree_, usage_, queue)
                                      : borrowed_share(tree_, usage_, queue, capacity_);
  node.bid.has_quota_left = has_quota_left(tree_, usage_, queue, workload);
}

// After the bid of the bidder at that position changed.
void Backlog::sift_down(QueueIndex queue, std::size_t at) {
  auto& bidders = nodes_[queue].bidders;
  while (true) {
    std::size_t best = at;
    for (const std::size_t child : {2 * at + 1, 2 * at + 2}) {
      if (child < bidders.size() &&
          is_before(find_bid(queue, bidders[child]), find_bid(queue, bidders[best]))) {
        best = child;
      }
    }
    if (best == at) return;
    std::swap(bidders[at], bidders[best]);
    at = best;
  }
}

void Backlog::build(QueueIndex queue) {
  Node& node = nodes_[queue];
  make_own_bid(queue);
  if (node.own_bid.workload != nullptr) node.bidders.push_back(queue);
  for (const QueueIndex child : tree_.children(queue)) {
    build(child);
    if (nodes_[child].bid.workload != nullptr) node.bidders.push_back(child);
  }
  for (std::size_t at = node.bidders.size() / 2; at-- > 0;) sift_down(queue, at);
  make_bid(queue);
}

// All bids from the offered queue up to the root change, and no others: shares depend on a queue's
// own use alone. Each of them was the best of its queue.
void Backlog::update_path() {
  make_own_bid(offered_.home);
  QueueIndex bidder = offered_.home;
  for (QueueIndex queue = offered_.home;; queue = tree_.parent(queue)) {
    auto& bidders = nodes_[queue].bidders;
    if (find_bid(queue, bidder).workload == nullptr) {
      bidders.front() = bidders.back();
      bidders.pop_back();
    }
    sift_down(queue, 0);
    make_bid(queue);
    if (queue == kRoot) return;
    bidder = queue;
  }
}

std::optional<Backlog::Offer> Backlog::next() {
  while (nodes_[kRoot].bid.workload != nullptr) {
    offered_ = nodes_[kRoot].bid;
    const Workload& workload = *offered_.workload;
    if (!offered_.guarantor && !offered_.is_deferred && !nodes_[offered_.home].deferred.empty()) {
      update_path();  // it was within the quota of an ancestor until a sibling used that
      continue;
    }
    if (auto reason = find_inadmissible(tree_, usage_, offered_.home, workload)) {
      held_.push_back({&workload, *std::move(reason)});
      drop_offered();
      update_path();
      continue;
    }
    ClassCaps caps = find_caps(tree_, usage_, offered_.home, workload, offered_.guarantor);
    is_offered_with_quota_caps_ =
        offered_.guarantor &&
        caps != find_caps(tree_, usage_, offered_.home, workload, std::nullopt);
    return Offer{&workload, offered_.guarantor.has_value(), std::move(caps)};
  }
  return std::nullopt;
}

void Backlog::drop_offered() {
  Node& node = nodes_[offered_.home];
  if (offered_.is_deferred) {
    node.deferred.pop_front();
  } else {
    node.line.skip();
    node.next_guarantor = 0;
  }
}

void Backlog::place(const ClassRequests& classes) {
  usage_.add(tree_, offered_.home, *offered_.workload, classes);
  drop_offered();
  nodes_[offered_.home].line.charge(*offered_.workload);
  update_path();
}

void Backlog::skip() {
  Node& node = nodes_[offered_.home];
  if (is_offered_with_quota_caps_) {
    node.next_guarantor = tree_.depth(offered_.home) - tree_.depth(*offered_.guarantor) + 1;
  }
  if (!is_offered_with_quota_caps_) {
    drop_offered();
  } else if (!has_guarantor(offered_.home, *offered_.workload)) {
    node.deferred.push_back(offered_.workload);
    drop_offered();
  }
  update_path();
}

}  // namespace nervex::queue
