// job/validate_resources.h - can a container ask for these amounts?
#pragma once

#include <string>

#include "job/validate.h"

namespace nervex::job {

// Checks the ResourceRequirements ({requests, limits}) that stand at `path`: quantities, whole
// numbers of devices, requests against limits. Parts of a wrong type are passed over.
void validate_resources(const Json& resources, const std::string& path, FieldErrors& errors);

}  // namespace nervex::job
