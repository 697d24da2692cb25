// job/schema/job_schema.h - what is the schema of a NerveXJob or an AggregatorConfig, with this
// cluster's pod templates?
//
// The dialect produced here: JSON Schema draft 7, with only type (also as a list), properties,
// required, additionalProperties (as a schema), items, enum, format, the bounds of numbers, strings
// and arrays, and $ref into #/definitions. Objects with properties are closed by SchemaCheck, not
// by additionalProperties. Null counts as absent everywhere, as for the API server: schemas do not
// mention it, and nulls are removed before values are checked.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "job/field_error.h"
#include "job/schema/schema_check.h"
#include "kube/model/json.h"

namespace nervex::job {

// Where the API server publishes Pod, PodTemplateSpec and Volume.
inline constexpr std::string_view kCoreOpenApiPath = "/openapi/v3/api/v1";

// `core_document`: the JSON text at that path. `job_schema`: JSON text of the CRD's schema
// (schemas/schemas.h). kInvalid if either lacks a required part. Only the parts that the CRD leaves
// open are closed: templates and volumes. On all other levels unknown fields pass, and status and
// spec.requests are not checked, so the check works with a newer or older CRD.
Result<std::shared_ptr<const SchemaCheck>> make_job_check(std::string_view job_schema,
                                                          std::string_view core_document);

// The same for a file before it is submitted, without a cluster. All levels except status and
// spec.requests are closed, metadata too. A field that is not in the schemas is misspelt or belongs
// to a newer version. kInvalid as above.
Result<std::shared_ptr<const SchemaCheck>> make_offline_job_check(std::string_view job_schema,
                                                                  std::string_view core_document);
// The same for an AggregatorConfig, whose CRD's schema is `config_schema`.
Result<std::shared_ptr<const SchemaCheck>> make_offline_config_check(
    std::string_view config_schema, std::string_view core_document);

// The same for a kind without templates, such as a Queue, whose CRD's schema is `crd_schema`.
Result<std::shared_ptr<const SchemaCheck>> make_offline_plain_check(std::string_view crd_schema,
                                                                    std::string_view core_document);

// Errors of a NerveXJob by itself: validate_job() and its schema, each field once.
FieldErrors job_errors(const Json& object, const SchemaCheck& schema);

// One OpenAPI v3 schema, as the API server publishes it or as a CRD holds it, in the dialect above:
// - {allOf: [{$ref}], default, description} becomes the $ref;
// - int-or-string and quantities become lists of types;
// - enums allow "" as well, which the API server reads as "not set";
// - patterns are left out: std::regex overflows the stack on long texts.
Json convert_schema(const Json& open_api_schema);

// The definitions for `roots` and everything they refer to, from a core document. kInvalid if one
// is missing.
Result<Json> convert_definitions(const Json& document, std::span<const std::string_view> roots);

}  // namespace nervex::job
