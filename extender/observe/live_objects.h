// extender/observe/live_objects.h - how are pods and PodGroups read from the API server, and their
// statuses written?
#pragma once

#include <string>

#include "base/error.h"
#include "gang/pod_group.h"
#include "kube/api.h"
#include "kube/model/pod.h"

namespace nervex::extender {

// Which parts of a pod are cached: with the annotations of its slot and the label of its foreign
// PodGroup.
const kube::PodFilter& pod_filter();

// The live pod. kNotFound also if the name now belongs to another UID.
Result<kube::Pod> read_pod(kube::Api& api, const std::string& ns, const std::string& name,
                           const std::string& uid);

// The live PodGroup. kNotFound also if the name now belongs to another UID.
Result<gang::PodGroup> read_pod_group(kube::Api& api, const gang::PodGroup& known);

// Replaces the status if the object still has base's UID and resourceVersion, else kConflict.
// Returns the object as stored. kTransient: it may or may not be stored.
Result<gang::PodGroup> write_status(kube::Api& api, const gang::PodGroup& base,
                                    const gang::PodGroupStatus& status);

}  // namespace nervex::extender
