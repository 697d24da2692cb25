// cli/server_verdict.h - what does a cluster say about an object, if asked by a dry run?
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/verdict.h"
#include "kube/api.h"
#include "kube/model/json.h"

namespace nervex::cli {

// What the cluster refuses about the NerveXJob or AggregatorConfig, and what it warns of: of
// creating it, or, if there is one of that name, of changing that to what changed_object() makes:
// what is stored already and was refused today is no fault of the change. `ns`: for an object that
// names none. `api` must tell a missing right from a refusal by admission (kube::AccessReviewApi).
// An Error: there is no verdict; kForbidden: the caller's own rights are the reason, and it says
// what to do; kTransient, kUnauthorized: the next object will fare no better.
Result<std::vector<Finding>> ask_server(kube::Api& api, const std::string& ns, const Json& object);

// `stored` as it would be after `kubectl apply` of `object` if it was applied before, which its
// annotation says, else after `kubectl replace`. Members that were applied and that `object` leaves
// out go; with replace all that it leaves out. spec.requests and the status are left to their
// writers, and the version is that of `stored`. Pure.
Json changed_object(const Json& stored, const Json& object);

}  // namespace nervex::cli
