// job/topology_levels.h - which node labels may be levels of a topology?
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "job/field_error.h"
#include "kube/model/json.h"

namespace nervex::job {

// Default of --topology-levels.
inline constexpr std::string_view kDefaultTopologyLevels =
    "topology.kubernetes.io/zone,kubernetes.io/hostname";

// Node label keys from the value of --topology-levels: separated by commas, coarse first. kInvalid:
// there is none, one is not a label key, or one is named twice.
Result<std::vector<std::string>> parse_topology_levels(std::string_view text);
std::vector<std::string> default_topology_levels();

// Reports the levels of the job and its roles that are not among `levels`. `object` is a NerveXJob
// as JSON; it may violate its schema, as no types are assumed.
FieldErrors check_topology_levels(const Json& object, std::span<const std::string> levels);

}  // namespace nervex::job
