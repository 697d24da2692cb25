// webhook/warnings.h - what in this job works, but not as its author may think?
#pragma once

#include <string>
#include <vector>

#include "kube/model/json.h"

namespace nervex::webhook {

// One line each, below 120 characters, for kubectl to show. `object` is a valid NerveXJob.
std::vector<std::string> warnings_for(const Json& object);

}  // namespace nervex::webhook
