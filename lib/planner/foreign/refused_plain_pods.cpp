#include "planner/foreign/refused_plain_pods.h"

#include <algorithm>

namespace nervex::planner {

bool RefusedPlainPods::refuse(ForeignWork& pod,
                              const std::vector<placement::GroupLimit>& limits) const {
  const gang::PodShape* shape = pod.plain_shape();
  if (shape == nullptr) return false;
  const auto [first, last] = refused_.equal_range(pod.priority());
  const auto same = std::find_if(first, last, [&](const auto& entry) {
    return entry.second.shape == *shape && entry.second.limits == limits;
  });
  if (same == last) return false;
  pod.refuse(same->second.no_fit);
  return true;
}

void RefusedPlainPods::note(const ForeignWork& pod,
                            const std::vector<placement::GroupLimit>& limits) {
  const gang::PodShape* shape = pod.plain_shape();
  const gang::NoFit* no_fit = pod.common_no_fit();
  if (shape == nullptr || no_fit == nullptr || refused_.size() == kMost) return;
  refused_.emplace(pod.priority(), Refused{*shape, limits, *no_fit});
}

}  // namespace nervex::planner
