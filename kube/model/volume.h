// kube/model/volume.h - on which nodes can the volume of a claim be used?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"

namespace nervex::kube {

struct Claim {           // a PersistentVolumeClaim
  Meta meta;             // namespace, name, uid and resourceVersion alone
  SharedString volume;   // spec.volumeName; empty: not bound
  SharedString phase{};  // status.phase: Pending, Bound, Lost
  bool operator==(const Claim&) const = default;
};

struct Volume {  // a PersistentVolume
  Meta meta;     // name, uid and resourceVersion alone
  // JSON of an array of node_selector_terms (node.h), each of which a node must meet; as text, for
  // there may be many volumes. Empty: it can be used on every node.
  std::string node_terms;
  bool operator==(const Volume&) const = default;
};

// kInvalid: not JSON, or metadata.name is missing.
Result<Claim> decode_claim(std::string_view json);
// Rules of kube-scheduler 1.36 for bound volumes: VolumeBinding (spec.nodeAffinity.required) and
// VolumeZone (its labels for zone and region; nodes without such labels are allowed).
Result<Volume> decode_volume(std::string_view json);

// The claims that a pod spec names, sorted. Without those that the pod brings itself (ephemeral):
// they do not exist before it does.
std::vector<std::string> claims_of(const Json& pod_spec);

}  // namespace nervex::kube
