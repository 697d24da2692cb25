#include "webhook/job_schema.h"

#include <array>

#include <fmt/format.h>

#include "kube/model/json.h"
#include "webhook/open_api.h"

namespace nervex::webhook {
namespace {

constexpr std::string_view kPodTemplateSpec = "io.k8s.api.core.v1.PodTemplateSpec";
constexpr std::string_view kVolume = "io.k8s.api.core.v1.Volume";
constexpr std::array<std::string_view, 2> kRoots{kPodTemplateSpec, kVolume};

// The parts of a job that the CRD leaves open, and what stands there.
struct OpenPart {
  const char* pointer;
  std::string_view definition;
};
constexpr std::array<OpenPart, 4> kOpenParts{{
    {"/properties/spec/properties/coordinator/properties/template", kPodTemplateSpec},
    {"/properties/spec/properties/collector/properties/template", kPodTemplateSpec},
    {"/properties/spec/properties/learner/properties/template", kPodTemplateSpec},
    {"/properties/spec/properties/volumes/items", kVolume},
}};

}  // namespace

Result<std::shared_ptr<const SchemaCheck>> make_job_check(std::string_view job_schema,
                                                          std::string_view core_document) {
  const auto crd = kube::parse_json(job_schema);
  if (!crd) return with_context("schema of NerveXJob", crd.error());
  const auto document = kube::parse_json(core_document);
  if (!document) return with_context("OpenAPI document", document.error());
  auto definitions = convert_definitions(*document, kRoots);
  if (!definitions) return definitions.error();

  Json schema = convert_schema(*crd);
  for (const auto& part : kOpenParts) {
    const Json::json_pointer pointer(part.pointer);
    if (!schema.contains(pointer)) {
      return Error{Code::kInvalid, fmt::format("schema of NerveXJob: no {}", part.pointer)};
    }
    schema[pointer] = {{"$ref", fmt::format("#/definitions/{}", part.definition)}};
  }
  schema["definitions"] = *std::move(definitions);
  return SchemaCheck::compile(std::move(schema));
}

}  // namespace nervex::webhook
