// extender/observe/parts/volumes.h - on which nodes can the volumes of a gang's pods be used?
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gang/objects.h"
#include "kube/cache/store.h"
#include "kube/model/objects.h"
#include "kube/model/volume.h"

namespace nervex::extender {

struct VolumeStores {
  kube::Store<kube::Claim> claims;
  kube::Store<kube::Volume> volumes;
};

// The keys of claims and volumes that a PodGroup's constraints depend on.
struct VolumesUsed {
  std::set<std::string> claims;
  std::set<std::string> volumes;
};

// NodeConstraints::volume_terms of a pod in that namespace that mounts these claims.
Json volume_terms(const std::vector<std::string>& claims, const std::string& ns,
                  const VolumeStores& stores, VolumesUsed& used);

// Those of the namespace's claims that no pod can use yet, in order, with the reason:
// "data=missing", "data=unbound", "data=lost".
std::vector<std::string> unusable_claims(const std::vector<std::string>& claims,
                                         const std::string& ns, const VolumeStores& stores);

// The PodGroup with the node constraints of its bound claims, and what they depend on; unchanged if
// there are none. Missing or unbound claims and missing volumes are left to kube-scheduler.
gang::PodGroupPtr with_volumes(const gang::PodGroupPtr& group, const VolumeStores& stores,
                               VolumesUsed& used);

}  // namespace nervex::extender
