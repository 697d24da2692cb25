// extender/observe/parts/effective_group.h - which PodGroup is planned with: the stored one, and
// what its pods and volumes show beside it?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "extender/observe/parts/existing_pods.h"
#include "extender/observe/parts/slot_pods.h"
#include "extender/observe/parts/volumes.h"
#include "gang/objects.h"
#include "kube/model/objects.h"

namespace nervex::extender {

struct EffectiveGroup {
  // With the constraints of volumes, its pods' real requests, and the placements that its status
  // has lost. The stored one if nothing differs.
  gang::PodGroupPtr group;
  VolumesUsed volumes;                       // its constraints depend on these
  std::vector<gang::EnlargedSet> enlarged;   // as the status should have them
  bool is_restored = false;                  // the stored status lacks placements of `group`
  std::int64_t highest_placement = 0;        // highest number ever seen
  std::vector<std::string> unusable_claims;  // GroupSeen::unusable_claims
};

// `highest_placement`: the last result's.
EffectiveGroup make_effective(const gang::PodGroupPtr& stored, std::int64_t highest_placement,
                              const ExistingPods& existing, const SlotPods& pods,
                              const VolumeStores& volumes);

}  // namespace nervex::extender
