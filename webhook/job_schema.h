// webhook/job_schema.h - the schema of a NerveXJob, its pod templates as this cluster knows them.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "webhook/schema_check.h"

namespace nervex::webhook {

// Where the API server tells of Pod, PodTemplateSpec and Volume.
inline constexpr std::string_view kCoreOpenApiPath = "/openapi/v3/api/v1";

// `core_document` is what is found there, `job_schema` the CRD's schema (schemas/schemas.h), JSON
// texts. kInvalid if one of them does not hold what is needed.
Result<std::shared_ptr<const SchemaCheck>> make_job_check(std::string_view job_schema,
                                                          std::string_view core_document);

}  // namespace nervex::webhook
