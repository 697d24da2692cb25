// queue/share.h - which part of the cluster does a queue borrow? Exact: no floating point.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "kube/model/resources.h"
#include "queue/tree.h"
#include "queue/usage.h"

namespace nervex::queue {

// Not negative. Compares by value: 1/2 equals 2/4.
class Fraction {
 public:
  __extension__ using Wide = unsigned __int128;

  Fraction() = default;
  // `denominator` must not be 0.
  Fraction(Wide numerator, Wide denominator) : numerator_(numerator), denominator_(denominator) {}

  std::weak_ordering operator<=>(const Fraction& other) const;
  bool operator==(const Fraction& other) const { return (*this <=> other) == 0; }
  double to_double() const {
    return static_cast<double>(numerator_) / static_cast<double>(denominator_);
  }
  // "12.3%", rounded down.
  std::string to_percent() const;

 private:
  Wide numerator_ = 0;
  Wide denominator_ = 1;
};

// The largest of amount / capacity over all resources, divided by the weight. Resources that the
// cluster does not have are left out.
Fraction dominant_share(const kube::Resources& amounts, const kube::Resources& capacity,
                        std::int64_t weight = 1);

// What the queue and its parts use beyond their quota. Of a resource with amounts for classes: what
// is used beyond those, and on other nodes. Elastic use is not counted.
kube::Resources borrowed(const QueueTree& tree, const Usage& usage, QueueIndex queue);

// Of queues beyond quota, the one with the lowest share is served first (Dominant Resource
// Fairness, NSDI 2011, of what is borrowed). The share before the next workload, not after it: then
// a queue of large jobs gets its turn as often as its weight says.
inline Fraction borrowed_share(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                               const kube::Resources& capacity) {
  return dominant_share(borrowed(tree, usage, queue), capacity, tree[queue].weight);
}

// The largest used part of a guaranteed amount, at most 1. Of queues within quota, the one that has
// used least of it is served first: if the cluster cannot give all of them their quota, each gets
// the same part of it.
Fraction used_quota(const QueueTree& tree, const Usage& usage, QueueIndex queue);

}  // namespace nervex::queue
