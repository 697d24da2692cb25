// extender/observe/volumes.h - on which nodes can the volumes of a gang's pods be used?
#pragma once

#include <set>
#include <string>
#include <vector>

#include "extender/decide/view.h"
#include "kube/cache/store.h"
#include "kube/model/volume.h"

namespace nervex::extender {

struct VolumeStores {
  kube::Store<kube::Claim> claims;
  kube::Store<kube::Volume> volumes;
};

// By key: what the constraints of a PodGroup depend on.
struct VolumesUsed {
  std::set<std::string> claims;
  std::set<std::string> volumes;
};

// NodeConstraints::volume_terms of a pod of that namespace that mounts these claims.
Json volume_terms(const std::vector<std::string>& claims, const std::string& ns,
                  const VolumeStores& stores, VolumesUsed& used);

// Of these claims of that namespace, those that no pod can use yet, in their order, and why:
// "data=missing", "data=unbound", "data=lost".
std::vector<std::string> unusable_claims(const std::vector<std::string>& claims,
                                         const std::string& ns, const VolumeStores& stores);

// The PodGroup with the constraints that its bound claims put on nodes, and what these depend on;
// as it was given if there are none. A claim that does not exist or is not bound is left to
// kube-scheduler, as is a volume that does not exist.
PodGroupPtr with_volumes(const PodGroupPtr& group, const VolumeStores& stores, VolumesUsed& used);

}  // namespace nervex::extender
