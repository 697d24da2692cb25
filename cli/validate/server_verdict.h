// cli/validate/server_verdict.h - what does a cluster say about an object in a dry run?
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/validate/verdict.h"
#include "kube/api.h"
#include "kube/model/json.h"

namespace nervex::cli {

// What the cluster refuses and warns of for the NerveXJob or AggregatorConfig: for creating it, or,
// if one of that name exists, for changing that one as changed_object() does. Errors that the
// stored object already has do not count. `ns`: for an object without a namespace. `api` must
// distinguish a missing right from a refusal by admission (kube::AccessReviewApi). An Error: no
// verdict; kForbidden: the caller lacks a right, and the message says what to do; kTransient,
// kUnauthorized: the next object will fail too.
Result<std::vector<Finding>> ask_server(kube::Api& api, const std::string& ns, const Json& object);

// `stored` after `kubectl apply` of `object` if its annotation shows an earlier apply, else after
// `kubectl replace`. Apply removes members that were applied and that `object` omits; replace
// removes all that it omits. spec.requests and the status stay, since other programs write them, as
// does the version of `stored`. Pure.
Json changed_object(const Json& stored, const Json& object);

}  // namespace nervex::cli
