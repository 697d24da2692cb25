// kube/model/volume.h - on which nodes can a claim's volume be used?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"

namespace nervex::kube {

struct Claim {           // a PersistentVolumeClaim
  Meta meta;             // only namespace, name, uid and resourceVersion
  SharedString volume;   // spec.volumeName; empty: not bound
  SharedString phase{};  // status.phase: Pending, Bound, Lost
  bool operator==(const Claim&) const = default;
};

struct Volume {  // a PersistentVolume
  Meta meta;     // only name, uid and resourceVersion
  // JSON of an array of node_selector_terms (node.h), all of which a node must meet. Kept as text,
  // because there may be many volumes. Empty: usable on every node.
  std::string node_terms;
  bool operator==(const Volume&) const = default;
};

// kInvalid: not JSON, or metadata.name is missing.
Result<Claim> decode_claim(std::string_view json);
// Rules of kube-scheduler 1.36 for bound volumes: VolumeBinding (spec.nodeAffinity.required) and
// VolumeZone (labels for zone and region; nodes without these labels are allowed).
Result<Volume> decode_volume(std::string_view json);

// The claims that a pod spec names, sorted. Excludes the pod's ephemeral claims, which do not exist
// before the pod.
std::vector<std::string> claim_names(const Json& pod_spec);

}  // namespace nervex::kube
