#include "planner/gang/delegated.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string_view>

#include "kube/model/device_class.h"

namespace nervex::planner {

std::vector<std::string> find_delegated(const GangWork& work, const placement::Cluster& nodes) {
  if (!nodes.delegates()) return {};
  std::set<std::string_view> found;
  for (const PlacedSlot& slot : work.placed) {
    const auto at = nodes.find(slot.placement.node);
    if (!at) continue;
    for (const auto& [resource, amount] : slot.set->shape.requests.amounts()) {
      const bool is_left = kube::is_delegated(nodes.node(*at).allocatable.get(resource));
      if (amount > 0 && is_left) found.insert(resource);
    }
  }
  return {found.begin(), found.end()};
}

std::string describe_delegated(const std::vector<std::string>& resources) {
  if (resources.empty()) return "";
  return fmt::format("{} {} left to kube-scheduler, which allocates devices of a DeviceClass",
                     fmt::join(resources, " and "), resources.size() == 1 ? "is" : "are");
}

}  // namespace nervex::planner
