// job/schema/job_schema.h - what is the schema of a NerveXJob or an AggregatorConfig, its pod
// templates as this cluster knows them?
//
// The dialect of what is made here: JSON Schema draft 7, with only type (also as a list),
// properties, required, additionalProperties (as a schema), items, enum, format, the bounds of
// numbers, strings and arrays, and $ref into #/definitions. Objects with properties are closed by
// SchemaCheck, not by additionalProperties. Null counts as absent everywhere, as it does for the
// API server: schemas do not speak of it, and values lose their nulls before they are checked.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "job/field_error.h"
#include "job/schema/schema_check.h"
#include "kube/model/json.h"

namespace nervex::job {

// Where the API server tells of Pod, PodTemplateSpec and Volume.
inline constexpr std::string_view kCoreOpenApiPath = "/openapi/v3/api/v1";

// `core_document` is what is found there, `job_schema` the CRD's schema (schemas/schemas.h), JSON
// texts. kInvalid if one of them does not hold what is needed.
// Closed are only the parts that the CRD leaves open: templates and volumes. At all other levels
// unknown fields pass, and status and spec.requests are not looked at, so that this check lives
// with a CRD that is newer or older than it.
Result<std::shared_ptr<const SchemaCheck>> make_job_check(std::string_view job_schema,
                                                          std::string_view core_document);

// The same for a file before it is submitted, when there is no cluster to ask: all levels but
// status and spec.requests are closed, metadata too. What is not in the schemas is misspelt, or of
// a newer version than they are. kInvalid as above.
Result<std::shared_ptr<const SchemaCheck>> make_offline_job_check(std::string_view job_schema,
                                                                  std::string_view core_document);
// The same for an AggregatorConfig, whose CRD's schema is `config_schema`.
Result<std::shared_ptr<const SchemaCheck>> make_offline_config_check(
    std::string_view config_schema, std::string_view core_document);

// What is wrong with a NerveXJob by itself: validate_job() and its schema, each field once.
FieldErrors job_errors(const Json& object, const SchemaCheck& schema);

// One OpenAPI v3 schema, as the API server publishes it or as a CRD holds it, in the dialect above:
// - {allOf: [{$ref}], default, description} becomes the $ref;
// - int-or-string and quantities become lists of types;
// - enums allow "" as well, which the API server reads as "not set";
// - patterns are left out: std::regex overflows the stack on long texts.
Json convert_schema(const Json& open_api_schema);

// The definitions for `roots` and everything they refer to, from a core document. kInvalid if one
// of them is not there.
Result<Json> convert_definitions(const Json& document, std::span<const std::string_view> roots);

}  // namespace nervex::job
