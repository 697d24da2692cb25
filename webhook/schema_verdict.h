// webhook/schema_verdict.h - why does this value break its schema, in words for people?
#pragma once

#include <string>

#include "job/validate.h"
#include "kube/model/json.h"
#include "webhook/schema_tree.h"

namespace nervex::webhook {

// The error for `value`, which a validator refused at `place`. `otherwise` is its own description,
// for rules that are not told here: types and enums are.
job::FieldError explain_refusal(const SchemaPlace& place, const Json& value,
                                const std::string& otherwise);

}  // namespace nervex::webhook
