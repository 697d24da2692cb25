#include "webhook/field_walk.h"

#include <limits>
#include <vector>

#include <fmt/format.h>

#include "job/text.h"
#include "webhook/did_you_mean.h"

namespace nervex::webhook {
namespace {

using job::FieldErrors;
using job::FieldErrorType;

std::string unknown_field_text(const Json& schema, const std::string& key) {
  std::vector<std::string> known;
  for (const auto& [name, unused] : schema["properties"].items()) known.push_back(name);
  const std::string guess = did_you_mean(key, known);
  if (guess.empty()) return fmt::format("unknown field `{}`", job::cut_text(key, kMaxKeyLength));
  return fmt::format("unknown field `{}`, did you mean `{}`?", key, guess);
}

void check_required(const Json& schema, const Json& value, const SchemaPlace& place,
                    const SchemaTree& tree, FieldErrors& errors) {
  const auto required = schema.find("required");
  if (required == schema.end()) return;
  for (const auto& name : *required) {
    const auto& key = name.get_ref<const std::string&>();
    if (value.contains(key)) continue;
    errors.push_back({FieldErrorType::kRequired, tree.member(place, key).path, "", ""});
  }
}

void check_integer(const Json& schema, const Json& value, const SchemaPlace& place,
                   FieldErrors& errors) {
  const std::string format = kube::string_at(schema, {"format"});
  if (format != "int32" && format != "int64") return;
  const bool beyond_64 = value.is_number_unsigned() &&
                         value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  const std::int64_t number = beyond_64 ? 0 : value.get<std::int64_t>();
  const bool beyond_32 = number > std::numeric_limits<std::int32_t>::max() ||
                         number < std::numeric_limits<std::int32_t>::min();
  if (beyond_64 || (format == "int32" && beyond_32)) {
    errors.push_back({FieldErrorType::kInvalid, place.path, job::shown_value(value),
                      fmt::format("must be a {}-bit integer", format.substr(3))});
  }
}

void walk(const SchemaTree& tree, const SchemaPlace& place, const Json& value,
          FieldErrors& errors) {
  if (place.schema == nullptr || errors.size() >= job::kMaxErrors) return;
  const Json& schema = *place.schema;
  if (value.is_object()) {
    check_required(schema, value, place, tree, errors);
    for (const auto& [key, child] : value.items()) {
      const SchemaPlace member = tree.member(place, key);
      if (member.schema == nullptr && is_closed(schema) && errors.size() < job::kMaxErrors) {
        errors.push_back(
            {FieldErrorType::kForbidden, member.path, "", unknown_field_text(schema, key)});
      }
      walk(tree, member, child, errors);
    }
  } else if (value.is_array()) {
    std::size_t index = 0;
    for (const auto& child : value) walk(tree, tree.item(place, index++), child, errors);
  } else if (value.is_number_integer()) {
    check_integer(schema, value, place, errors);
  }
}

}  // namespace

FieldErrors check_fields(const SchemaTree& tree, const Json& value) {
  FieldErrors errors;
  walk(tree, tree.root(), value, errors);
  return errors;
}

}  // namespace nervex::webhook
