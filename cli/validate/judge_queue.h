// cli/validate/judge_queue.h - what would the API server and the extender say of a Queue? Pure.
#pragma once

#include "job/field_error.h"
#include "job/schema/schema_check.h"
#include "kube/model/json.h"

namespace nervex::cli {

// `schema`: job::make_offline_plain_check() of the Queue's schema.
job::FieldErrors queue_errors(const Json& object, const job::SchemaCheck& schema);

}  // namespace nervex::cli
