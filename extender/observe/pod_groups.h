// extender/observe/pod_groups.h - how is a PodGroup read from the API server, and its status
// written?
#pragma once

#include <string>

#include "base/error.h"
#include "gang/pod_group.h"
#include "kube/api.h"

namespace nervex::extender {

// The live object. kNotFound also if the name now belongs to another UID.
Result<gang::PodGroup> read_pod_group(kube::Api& api, const gang::PodGroup& known);

// Replaces the status if the object still has base's UID and resourceVersion, else kConflict.
// Returns the object as stored. kTransient: it may or may not be stored.
Result<gang::PodGroup> write_status(kube::Api& api, const gang::PodGroup& base,
                                    const gang::PodGroupStatus& status);

}  // namespace nervex::extender
