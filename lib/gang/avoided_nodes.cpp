#include "gang/avoided_nodes.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "base/backoff.h"

namespace nervex::gang {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAvoidFirst{60'000};
constexpr milliseconds kAvoidLongest{600'000};
// After a node was avoided, its number of refusals is kept for this long.
constexpr milliseconds kRemember{600'000};
// A time further ahead than this many times the maximum comes from a wrong clock.
constexpr int kClocksDiffer = 2;

template <typename Avoided>
auto find_avoided(Avoided& avoid, std::string_view set, std::string_view node) {
  return std::find_if(avoid.begin(), avoid.end(), [&](const AvoidedNode& entry) {
    return entry.set == set && entry.node == node;
  });
}

void keep_bounded(std::vector<AvoidedNode>& avoid) {
  if (avoid.size() <= kMostAvoided) return;
  std::sort(avoid.begin(), avoid.end(),
            [](const auto& a, const auto& b) { return a.until > b.until; });
  avoid.resize(kMostAvoided);
}

}  // namespace

void avoid_node(std::vector<AvoidedNode>& avoid, std::string_view set, std::string_view node,
                int at_most, SysTime now) {
  auto at = find_avoided(avoid, set, node);
  if (at == avoid.end()) {
    avoid.push_back({std::string(set), std::string(node), 0, 0, {}});
    at = std::prev(avoid.end());
  }
  at->at_most = at_most;
  ++at->times;
  at->until = now + backoff_delay(kAvoidFirst, at->times - 1, kAvoidLongest);
  keep_bounded(avoid);
}

bool is_in_force(const AvoidedNode& avoided, SysTime now) {
  return avoided.until > now && avoided.until <= now + kClocksDiffer * kAvoidLongest;
}

int times_refused(const std::vector<AvoidedNode>& avoid, std::string_view set,
                  std::string_view node) {
  const auto at = find_avoided(avoid, set, node);
  return at == avoid.end() ? 0 : at->times;
}

// An inherited entry that has expired long ago is left out here, too: it would be written back and
// removed with each cycle.
std::vector<AvoidedNode> avoided_nodes(const PodGroup& group, SysTime now) {
  std::vector<AvoidedNode> avoid = group.status.avoid;
  for (const AvoidedNode& inherited : still_of_use(group.spec.avoid, now)) {
    if (find_avoided(avoid, inherited.set, inherited.node) == avoid.end()) {
      avoid.push_back(inherited);
    }
  }
  keep_bounded(avoid);
  return avoid;
}

std::vector<AvoidedNode> still_of_use(std::vector<AvoidedNode> avoid, SysTime now) {
  std::erase_if(avoid, [now](const auto& avoided) {
    return avoided.until + kRemember <= now || avoided.until > now + kClocksDiffer * kAvoidLongest;
  });
  return avoid;
}

}  // namespace nervex::gang
