// view/json.h - what is said of a job, as JSON for programs. docs/reference/job-view.md lists the
// fields and codes. Pure.
#pragma once

#include "kube/model/json.h"
#include "view/job_view.h"

namespace nervex::view {

// Times are RFC 3339 in UTC; what does not apply is absent. Codes and field names are stable,
// sentences are not.
Json to_json(const JobView& view);

}  // namespace nervex::view
