// extender/observe/pod_groups.h - how is a PodGroup read, and its status written, at the API
// server?
#pragma once

#include <string>

#include "base/error.h"
#include "gang/pod_group.h"
#include "kube/api.h"

namespace nervex::extender {

// The live object. kNotFound also if the name belongs to another UID by now.
Result<gang::PodGroup> read_pod_group(kube::Api& api, const gang::PodGroup& known);

// Replaces the status if the object still has base's UID and resourceVersion, else kConflict.
// Returns the object as stored. kTransient: it may have been stored or not.
Result<gang::PodGroup> write_status(kube::Api& api, const gang::PodGroup& base,
                                    const gang::PodGroupStatus& status);

}  // namespace nervex::extender
