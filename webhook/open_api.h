// webhook/open_api.h - how does Kubernetes' OpenAPI become a JSON Schema that a validator can use?
//
// The dialect of what is made here: JSON Schema draft 7, with only type (also as a list),
// properties, required, additionalProperties (as a schema), items, enum, format, the bounds of
// numbers, strings and arrays, and $ref into #/definitions. Objects with properties are closed by
// webhook/schema_check.cpp, not by additionalProperties. Null counts as absent everywhere, as it does
// for the API server: schemas do not speak of it, and values lose their nulls before they are
// checked.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::webhook {

// One OpenAPI v3 schema, as the API server publishes it or as a CRD holds it, in that dialect:
// - {allOf: [{$ref}], default, description} becomes the $ref;
// - int-or-string and quantities become lists of types;
// - enums allow "" as well, which the API server reads as "not set";
// - patterns are left out: std::regex overflows the stack on long texts.
Json convert_schema(const Json& open_api_schema);

// The definitions for `roots` and everything they refer to, from the document at
// /openapi/v3/api/v1. kInvalid if one of them is not there.
Result<Json> convert_definitions(const Json& document, std::span<const std::string_view> roots);

}  // namespace nervex::webhook
