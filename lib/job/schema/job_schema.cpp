#include "job/schema/job_schema.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "job/schema/schema_tree.h"
#include "job/validate.h"

namespace nervex::job {
namespace {

constexpr std::string_view kComponents = "#/components/schemas/";

constexpr std::array<const char*, 9> kKept{"required",  "format",    "minimum",
                                           "maximum",   "minItems",  "maxItems",
                                           "minLength", "maxLength", "type"};

// The component that a reference names; "" for another kind of reference.
std::string referenced_component(const Json& reference) {
  if (!reference.is_string()) return "";
  const auto& text = reference.get_ref<const std::string&>();
  return text.starts_with(kComponents) ? text.substr(kComponents.size()) : "";
}

// [{type: integer}, {type: string}] as a list of types; nullopt if there are other keywords.
std::optional<Json> as_types(const Json& alternatives) {
  if (!alternatives.is_array()) return std::nullopt;
  Json types = Json::array();
  for (const auto& alternative : alternatives) {
    if (!alternative.is_object() || alternative.size() != 1 || !alternative.contains("type")) {
      return std::nullopt;
    }
    types.push_back(alternative["type"]);
  }
  return types;
}

void convert_children(const Json& schema, Json& made) {
  if (const auto at = schema.find("properties"); at != schema.end() && at->is_object()) {
    for (const auto& [name, child] : at->items()) made["properties"][name] = convert_schema(child);
  }
  if (const auto at = schema.find("items"); at != schema.end()) made["items"] = convert_schema(*at);
  // A boolean only says whether the object is open: SchemaCheck reads that itself.
  const auto additional = schema.find("additionalProperties");
  if (additional != schema.end() && additional->is_object()) {
    made["additionalProperties"] = convert_schema(*additional);
  }
}

void convert_enum(const Json& schema, Json& made) {
  const auto values = schema.find("enum");
  if (values == schema.end() || !values->is_array()) return;
  made["enum"] = *values;
  if (std::find(values->begin(), values->end(), "") == values->end()) made["enum"].push_back("");
}

void collect_references(const Json& schema, std::vector<std::string>& names) {
  if (schema.is_object()) {
    if (const auto at = schema.find("$ref"); at != schema.end() && at->is_string()) {
      names.push_back(at->get_ref<const std::string&>().substr(kDefinitions.size()));
    }
  }
  if (!schema.is_structured()) return;
  for (const auto& child : schema) collect_references(child, names);
}

}  // namespace

Json convert_schema(const Json& schema) {
  if (!schema.is_object()) return Json::object();
  if (const auto at = schema.find("$ref"); at != schema.end()) {
    return {{"$ref", std::string(kDefinitions) + referenced_component(*at)}};
  }
  if (const auto at = schema.find("allOf"); at != schema.end() && at->size() == 1) {
    return convert_schema(at->front());
  }
  Json made = Json::object();
  for (const char* keyword : kKept) {
    if (const auto at = schema.find(keyword); at != schema.end()) made[keyword] = *at;
  }
  for (const char* choice : {"oneOf", "anyOf"}) {
    const auto at = schema.find(choice);
    if (at == schema.end()) continue;
    if (auto types = as_types(*at)) made["type"] = *std::move(types);
  }
  if (kube::bool_at(schema, {"x-kubernetes-int-or-string"})) made["type"] = {"integer", "string"};
  if (kube::bool_at(schema, {"x-kubernetes-preserve-unknown-fields"})) {
    made["x-kubernetes-preserve-unknown-fields"] = true;
  }
  convert_enum(schema, made);
  convert_children(schema, made);
  return made;
}

Result<Json> convert_definitions(const Json& document, std::span<const std::string_view> roots) {
  const Json* schemas = kube::find(document, {"components", "schemas"});
  if (schemas == nullptr) return Error{Code::kInvalid, "OpenAPI document: no components.schemas"};
  Json made = Json::object();
  std::vector<std::string> wanted(roots.begin(), roots.end());
  while (!wanted.empty()) {
    const std::string name = wanted.back();
    wanted.pop_back();
    if (made.contains(name)) continue;
    const auto at = schemas->find(name);
    if (at == schemas->end()) {
      return Error{Code::kInvalid, fmt::format("OpenAPI document: no schema {}", name)};
    }
    made[name] = convert_schema(*at);
    collect_references(made[name], wanted);
  }
  return made;
}

namespace {

constexpr std::string_view kPodTemplateSpec = "io.k8s.api.core.v1.PodTemplateSpec";
constexpr std::string_view kVolume = "io.k8s.api.core.v1.Volume";
constexpr std::string_view kObjectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
constexpr std::array<std::string_view, 3> kRoots{kPodTemplateSpec, kVolume, kObjectMeta};

// A part of an object that its CRD leaves open, and its schema.
struct OpenPart {
  const char* pointer;
  std::string_view definition;
};
constexpr std::array<OpenPart, 4> kOpenInJob{{
    {"/properties/spec/properties/coordinator/properties/template", kPodTemplateSpec},
    {"/properties/spec/properties/collector/properties/template", kPodTemplateSpec},
    {"/properties/spec/properties/learner/properties/template", kPodTemplateSpec},
    {"/properties/spec/properties/volumes/items", kVolume},
}};
constexpr std::array<OpenPart, 1> kOpenInConfig{
    {{"/properties/spec/properties/aggregator/properties/template", kPodTemplateSpec}}};

// Allows fields that the schema does not name. The API server prunes fields unknown to its own CRD,
// so remaining ones come from a newer CRD, for example as a default.
void open_levels(Json& schema) {
  if (!schema.is_structured()) return;
  if (schema.is_object() && schema.contains("properties")) {
    schema["x-kubernetes-preserve-unknown-fields"] = true;
  }
  for (auto& child : schema) open_levels(child);
}

// The API server checks these parts against its own CRD, and only our programs write them. A newer
// version of them must not keep a user from changing the job.
void leave_out_written_by_programs(Json& schema) {
  schema["properties"]["status"] = Json::object();
  Json& spec = schema["properties"]["spec"]["properties"];
  if (spec.contains("requests")) spec["requests"] = Json::object();
}

// The CRD's schema, with templates and volumes still open.
Result<Json> own_schema(std::string_view crd_schema) {
  const auto crd = kube::parse_json(crd_schema);
  if (!crd) return with_context("schema of the CRD", crd.error());
  Json schema = convert_schema(*crd);
  if (!schema.contains(Json::json_pointer("/properties/spec/properties"))) {
    return Error{Code::kInvalid, "schema of the CRD: no properties of spec"};
  }
  leave_out_written_by_programs(schema);
  return schema;
}

// The API server reads an absent field of a Kubernetes type as empty or 0 and checks that: a sysctl
// without a value is valid. Required fields are checked by the rules (job/template/rules.h).
void require_nothing(Json& schema) {
  if (!schema.is_structured()) return;
  if (schema.is_object()) schema.erase("required");
  for (auto& child : schema) require_nothing(child);
}

Json reference_to(std::string_view definition) {
  return {{"$ref", fmt::format("{}{}", kDefinitions, definition)}};
}

// `schema` is the CRD's; its open parts are filled from the document.
Result<std::shared_ptr<const SchemaCheck>> fill_and_compile(Json schema,
                                                            std::span<const OpenPart> open_parts,
                                                            std::string_view core_document) {
  const auto document = kube::parse_json(core_document);
  if (!document) return with_context("OpenAPI document", document.error());
  auto definitions = convert_definitions(*document, kRoots);
  if (!definitions) return definitions.error();
  for (const auto& part : open_parts) {
    const Json::json_pointer pointer(part.pointer);
    if (!schema.contains(pointer)) {
      return Error{Code::kInvalid, fmt::format("schema of the CRD: no {}", part.pointer)};
    }
    schema[pointer] = reference_to(part.definition);
  }
  for (auto& definition : *definitions) require_nothing(definition);
  schema["definitions"] = *std::move(definitions);
  return SchemaCheck::compile(std::move(schema));
}

Result<std::shared_ptr<const SchemaCheck>> closed_check(std::string_view crd_schema,
                                                        std::span<const OpenPart> open_parts,
                                                        std::string_view core_document) {
  auto schema = own_schema(crd_schema);
  if (!schema) return schema.error();
  (*schema)["properties"]["metadata"] = reference_to(kObjectMeta);
  return fill_and_compile(*std::move(schema), open_parts, core_document);
}

}  // namespace

Result<std::shared_ptr<const SchemaCheck>> make_job_check(std::string_view job_schema,
                                                          std::string_view core_document) {
  auto schema = own_schema(job_schema);
  if (!schema) return schema.error();
  open_levels(*schema);
  return fill_and_compile(*std::move(schema), kOpenInJob, core_document);
}

Result<std::shared_ptr<const SchemaCheck>> make_offline_job_check(std::string_view job_schema,
                                                                  std::string_view core_document) {
  return closed_check(job_schema, kOpenInJob, core_document);
}

Result<std::shared_ptr<const SchemaCheck>> make_offline_config_check(
    std::string_view config_schema, std::string_view core_document) {
  return closed_check(config_schema, kOpenInConfig, core_document);
}

Result<std::shared_ptr<const SchemaCheck>> make_offline_plain_check(
    std::string_view crd_schema, std::string_view core_document) {
  return closed_check(crd_schema, {}, core_document);
}

FieldErrors job_errors(const Json& object, const SchemaCheck& schema) {
  FieldErrors errors = validate_job(object);
  append_unreported(errors, schema.find_errors(object));
  return errors;
}

}  // namespace nervex::job
