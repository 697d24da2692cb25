// cli/server_verdict.h - what does a cluster say about an object, if asked by a dry run?
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/verdict.h"
#include "kube/api.h"
#include "kube/model/json.h"

namespace nervex::cli {

// What creating the NerveXJob or AggregatorConfig would be refused for; of one that is there
// already, what changing it to this would be. `ns`: for an object that names none. `api` must tell
// a missing right from a refusal by admission (kube::AccessReviewApi). An Error: there is no
// verdict; it says what to do if the caller's own rights are the reason.
Result<std::vector<Finding>> ask_server(kube::Api& api, const std::string& ns, const Json& object);

}  // namespace nervex::cli
