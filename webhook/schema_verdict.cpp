#include "webhook/schema_verdict.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nervex::webhook {
namespace {

using job::FieldErrorType;

std::vector<std::string> types_of(const Json& schema) {
  const auto at = schema.find("type");
  if (at == schema.end()) return {};
  if (at->is_string()) return {at->get<std::string>()};
  return at->get<std::vector<std::string>>();
}

bool has_type(const Json& value, std::string_view type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == value.type_name();
}

std::string with_article(std::string_view type) {
  if (type == "array") return "a list";
  return fmt::format("{} {}", type == "integer" || type == "object" ? "an" : "a", type);
}

// Empty if the type is right.
std::string wrong_type_text(const Json& schema, const Json& value) {
  std::vector<std::string> names;
  for (const auto& type : types_of(schema)) {
    if (has_type(value, type)) return "";
    names.push_back(with_article(type));
  }
  if (names.empty()) return "";
  return fmt::format("must be {}", fmt::join(names, " or "));
}

std::string enum_text(const Json& allowed) {
  std::vector<std::string> names;
  for (const auto& item : allowed) {
    if (item != "") names.push_back(kube::to_text(item));
  }
  return fmt::format("supported values: {}", fmt::join(names, ", "));
}

}  // namespace

job::FieldError explain_refusal(const SchemaPlace& place, const Json& value,
                                const std::string& otherwise) {
  const std::string shown = job::shown_value(value);
  if (place.schema == nullptr) return {FieldErrorType::kInvalid, place.path, shown, otherwise};
  if (auto text = wrong_type_text(*place.schema, value); !text.empty()) {
    return {FieldErrorType::kInvalid, place.path, shown, std::move(text)};
  }
  const auto allowed = place.schema->find("enum");
  if (allowed != place.schema->end() &&
      std::find(allowed->begin(), allowed->end(), value) == allowed->end()) {
    return {FieldErrorType::kNotSupported, place.path, shown, enum_text(*allowed)};
  }
  return {FieldErrorType::kInvalid, place.path, shown, otherwise};
}

}  // namespace nervex::webhook
