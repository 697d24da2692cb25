#include "extender/observe/parts/volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nervex::extender {
namespace {

std::string claim_key(const std::string& ns, const std::string& name) {
  return fmt::format("{}/{}", ns, name);
}

}  // namespace

Json volume_terms(const std::vector<std::string>& claims, const std::string& ns,
                  const VolumeStores& stores, VolumesUsed& used) {
  Json all = Json::array();
  for (const std::string& name : claims) {
    const std::string key = claim_key(ns, name);
    used.claims.insert(key);
    const auto claim = stores.claims.get(key);
    if (!claim || claim->volume.empty()) continue;
    used.volumes.insert(claim->volume.str());
    const auto volume = stores.volumes.get(claim->volume.str());
    if (!volume || volume->node_terms.empty()) continue;
    const auto terms = kube::parse_json(volume->node_terms);
    if (terms) all.insert(all.end(), terms->begin(), terms->end());
  }
  return all;
}

std::vector<std::string> unusable_claims(const std::vector<std::string>& claims,
                                         const std::string& ns, const VolumeStores& stores) {
  std::vector<std::string> unusable;
  for (const std::string& name : claims) {
    const auto claim = stores.claims.get(claim_key(ns, name));
    if (!claim) {
      unusable.push_back(name + "=missing");
    } else if (claim->phase == "Lost") {
      unusable.push_back(name + "=lost");
    } else if (claim->volume.empty() || claim->phase == "Pending") {
      unusable.push_back(name + "=unbound");
    }
  }
  return unusable;
}

gang::PodGroupPtr with_volumes(const gang::PodGroupPtr& group, const VolumeStores& stores,
                               VolumesUsed& used) {
  used = {};
  const auto sets = gang::all_sets(group->spec.gangs);
  if (std::all_of(sets.begin(), sets.end(),
                  [](const auto& set) { return set.shape.claims.empty(); }))
    return group;
  auto copy = std::make_shared<gang::PodGroup>(*group);
  for (gang::MemberSet& set : gang::all_sets(copy->spec.gangs)) {
    set.shape.constraints.edit([&](kube::NodeConstraints& constraints) {
      constraints.volume_terms = volume_terms(set.shape.claims, group->meta.ns.str(), stores, used);
    });
  }
  return copy;
}

}  // namespace nervex::extender
