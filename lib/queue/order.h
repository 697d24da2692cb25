// queue/order.h - which workload is served first?
#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "gang/pod_group.h"
#include "kube/model/foreign_pod_group.h"
#include "queue/workload.h"

namespace nervex::queue {

// Smaller is served first: higher priority, then the longer wait, then namespace and name, which
// makes the order total. Borrows the texts. All gangs of one PodGroup have one rank.
struct Rank {
  int priority = 0;
  SysTime queued_since{};
  std::string_view ns;
  std::string_view name;

  std::strong_ordering operator<=>(const Rank& other) const;
  bool operator==(const Rank&) const = default;
};

Rank rank(const gang::PodGroup& group);
Rank rank(const Workload& workload);
// `priority`: the highest among its unbound pods. Its wait starts at its creation.
Rank rank(const kube::ForeignPodGroup& group, int priority);

// The order of service, as indices into `ranks`. Of equal ranks the first comes first.
std::vector<std::size_t> order(std::span<const Rank> ranks);

}  // namespace nervex::queue
