// webhook/field_walk.h - which fields are unknown, missing, or too large for their integer type?
//
// What a JSON Schema validator tells badly or not at all; webhook/schema_check.h tells the rest.
#pragma once

#include "job/validate.h"
#include "kube/model/json.h"
#include "webhook/schema_tree.h"

namespace nervex::webhook {

// Stops after job::kMaxErrors. Cost: one step per value that the schema describes.
job::FieldErrors check_fields(const SchemaTree& tree, const Json& value);

}  // namespace nervex::webhook
