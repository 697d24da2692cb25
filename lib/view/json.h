// view/json.h - how is a job's view written as JSON? docs/reference/job-view.md lists fields and
// codes. Pure.
#pragma once

#include "kube/model/json.h"
#include "view/job_view.h"

namespace nervex::view {

// Times are RFC 3339 in UTC; fields that do not apply are absent. Codes and field names are stable,
// sentences are not.
Json to_json(const JobView& view);
Json to_json(const NodeReservation& reservation);

}  // namespace nervex::view
