// gang/objects.h - how are PodGroups passed around? As the objects of kube/model/objects.h.
#pragma once

#include <memory>

#include "gang/pod_group.h"

namespace nervex::gang {

using PodGroupPtr = std::shared_ptr<const PodGroup>;

}  // namespace nervex::gang
