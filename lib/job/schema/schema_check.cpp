#include "job/schema/schema_check.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/text.h"
#include "job/schema/flat_schema.h"
#include "job/schema/schema_tree.h"

namespace nervex::job {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;
using ValijsonError = valijson::ValidationResults::Error;

// The value without null members at any depth, which are absent for the API server. Array items
// stay.
Json without_nulls(const Json& value) {
  if (value.is_object()) {
    Json made = Json::object();
    for (const auto& [key, child] : value.items()) {
      if (!child.is_null()) made.emplace(key, without_nulls(child));
    }
    return made;
  }
  if (value.is_array()) {
    Json made = Json::array();
    for (const auto& child : value) made.push_back(without_nulls(child));
    return made;
  }
  return value;
}

bool has_field(const SchemaPlace& place, const std::string& key) {
  if (place.schema == nullptr) return false;
  const auto properties = place.schema->find("properties");
  return properties != place.schema->end() && properties->contains(key);
}

// The paths that `key` would have in parts of `place`; for lists, in each item.
std::vector<std::string> paths_below(const SchemaTree& tree, const SchemaPlace& place,
                                     const std::string& key) {
  std::vector<std::string> paths;
  for (const auto& [name, unused] : (*place.schema)["properties"].items()) {
    const SchemaPlace part = tree.member(place, name);
    if (has_field(part, key)) paths.push_back(tree.member(part, key).path);
    if (has_field(tree.item(part, 0), key)) paths.push_back(fmt::format("{}[].{}", part.path, key));
  }
  return paths;
}

// Resource names are not fields: {nvidia.com/gpu: 1} instead of {limits: {nvidia.com/gpu: 1}}.
bool is_resource(const SchemaPlace& place, std::string_view key) {
  const bool is_name = key == "cpu" || key == "memory" || key == "ephemeral-storage" ||
                       key == "gpu" || key.find('/') != key.npos;
  return is_name && has_field(place, "limits") && has_field(place, "requests");
}

// Suggests the level above or below where a field unknown to `place` belongs. "" if no part or
// several parts there have it; in a pod's spec these are containers of all kinds.
std::string right_path(const SchemaTree& tree, const SchemaPlace& place, const SchemaPlace* above,
                       const std::string& key) {
  if (key.size() > kMaxKeyLength) return "";
  if (is_resource(place, key)) return tree.member(tree.member(place, "limits"), key).path;
  const auto paths = paths_below(tree, place, key);
  if (paths.size() == 1) return paths.front();
  std::string in_containers = fmt::format("{}.containers[].{}", place.path, key);
  const bool is_known = std::find(paths.begin(), paths.end(), in_containers) != paths.end();
  if (is_known) return in_containers;
  const bool is_above = paths.empty() && above != nullptr && has_field(*above, key);
  return is_above ? tree.member(*above, key).path : "";
}

std::string unknown_field_text(const SchemaTree& tree, const SchemaPlace& place,
                               const SchemaPlace* above, const std::string& key) {
  std::string path = right_path(tree, place, above, key);
  // Below templates, all roles and AggregatorConfigs are alike.
  if (const auto at = path.find(".template."); at != path.npos) path.erase(0, at + 1);
  if (!path.empty()) return fmt::format("unknown field `{}`: it belongs at {}", key, path);
  std::vector<std::string> known;
  for (const auto& [name, unused] : (*place.schema)["properties"].items()) known.push_back(name);
  const std::string guess = closest_name(key, known);
  if (guess.empty()) return fmt::format("unknown field `{}`", cut_text(key, kMaxKeyLength));
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
    errors.push_back({FieldErrorType::kInvalid, place.path, shown_value(value),
                      fmt::format("must be a {}-bit integer", format.substr(3))});
  }
}

// `above`: the object that contains `place`, directly or in a list; null: none.
void walk(const SchemaTree& tree, const SchemaPlace& place, const SchemaPlace* above,
          const Json& value, FieldErrors& errors) {
  if (place.schema == nullptr || errors.size() >= kMaxErrors) return;
  const Json& schema = *place.schema;
  if (value.is_object()) {
    check_required(schema, value, place, tree, errors);
    for (const auto& [key, child] : value.items()) {
      const SchemaPlace member = tree.member(place, key);
      if (member.schema == nullptr && is_closed(schema) && errors.size() < kMaxErrors) {
        errors.push_back({FieldErrorType::kUnknownField, member.path, "",
                          unknown_field_text(tree, place, above, key)});
      }
      walk(tree, member, &place, child, errors);
    }
  } else if (value.is_array()) {
    std::size_t index = 0;
    for (const auto& child : value) walk(tree, tree.item(place, index++), above, child, errors);
  } else if (value.is_number_integer()) {
    check_integer(schema, value, place, errors);
  }
}

// Reports what JSON Schema validators report badly or not at all: fields that are unknown, missing,
// or too large for their integer type. Stops after kMaxErrors. Cost: one step per value that the
// schema describes.
FieldErrors check_fields(const SchemaTree& tree, const Json& value) {
  FieldErrors errors;
  walk(tree, tree.root(), nullptr, value, errors);
  return errors;
}

// The schema without what check_fields() reports, to avoid duplicate errors.
Json for_valijson(const Json& schema) {
  if (!schema.is_object()) return schema;
  Json made = Json::object();
  for (const auto& [key, value] : schema.items()) {
    if (key == "required" || key == "format") continue;
    if (key == "properties" || key == "definitions") {
      for (const auto& [name, child] : value.items()) made[key][name] = for_valijson(child);
    } else {
      made[key] = for_valijson(value);
    }
  }
  return made;
}

Json copy_within(const Json& value, std::size_t& left) {
  if (left > 0) --left;
  if (value.is_object()) {
    Json made = Json::object();
    for (auto at = value.begin(); at != value.end() && left > 0; ++at) {
      if (at.key().size() > kMaxKeyLength) continue;
      made.emplace(at.key(), copy_within(*at, left));
    }
    return made;
  }
  if (value.is_array()) {
    Json made = Json::array();
    for (auto at = value.begin(); at != value.end() && left > 0; ++at) {
      made.push_back(copy_within(*at, left));
    }
    return made;
  }
  return value;
}

// The first `count` values of a document, in order. Drops the rest and all values with a key longer
// than kMaxKeyLength, because each error names all keys above it: a report on an entire hostile
// document could fill the memory.
Json first_values(const Json& value, std::size_t count) { return copy_within(value, count); }

// Each ancestor of a wrong value repeats its error. In context order an ancestor comes right before
// its descendants.
std::vector<ValijsonError> deepest(valijson::ValidationResults& results) {
  std::vector<ValijsonError> all(results.begin(), results.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.context < b.context; });
  std::vector<ValijsonError> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& here = all[i].context;
    if (i + 1 < all.size() && all[i + 1].context.size() >= here.size() &&
        std::equal(here.begin(), here.end(), all[i + 1].context.begin())) {
      continue;
    }
    kept.push_back(std::move(all[i]));
  }
  return kept;
}

std::vector<std::string> schema_types(const Json& schema) {
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

// A text that would have this type without its quotes.
bool is_quoted(std::string_view type, const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  if (type == "a boolean") return text == "true" || text == "false";
  return type == "an integer" && is_digits(text);
}

// Empty if the type is right.
std::string wrong_type_text(const Json& schema, const Json& value) {
  std::vector<std::string> names;
  for (const auto& type : schema_types(schema)) {
    if (has_type(value, type)) return "";
    names.push_back(with_article(type));
  }
  if (names.empty()) return "";
  const bool unquoted = names.back() == "a string" && (value.is_number() || value.is_boolean());
  return fmt::format("must be {}{}", fmt::join(names, " or "),
                     unquoted                         ? ": write it in quotes"
                     : is_quoted(names.back(), value) ? ": write it without quotes"
                                                      : "");
}

std::string enum_text(const Json& allowed) {
  std::vector<std::string> names;
  for (const auto& item : allowed) {
    if (item != Json("")) names.push_back(kube::to_text(item));
  }
  return fmt::format("supported values: {}", fmt::join(names, ", "));
}

// The error for `value`, which valijson refused at `place`. Explains types and enums; `otherwise`
// is valijson's own description, for all other rules.
FieldError explain_refusal(const SchemaPlace& place, const Json& value,
                           const std::string& otherwise) {
  const std::string shown = shown_value(value);
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

// Converts a valijson error to a FieldError. `context` is "<root>", "[spec]", "[containers]",
// "[0]".
FieldError locate(const SchemaTree& tree, const Json& document, const ValijsonError& error) {
  SchemaPlace place = tree.root();
  const Json* value = &document;
  for (std::size_t i = 1; i < error.context.size(); ++i) {
    const std::string key = error.context[i].substr(1, error.context[i].size() - 2);
    if (value->is_array()) {
      const std::size_t index = std::stoul(key);
      place = tree.item(place, index);
      value = &value->at(index);
    } else {
      place = tree.member(place, key);
      value = &value->at(key);
    }
  }
  return explain_refusal(place, *value, error.description);
}

}  // namespace

struct SchemaCheck::Compiled {
  Json json;
  valijson::Schema schema;
  std::optional<FlatSchema> flat;
};

SchemaCheck::SchemaCheck(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
SchemaCheck::~SchemaCheck() = default;

Result<std::shared_ptr<const SchemaCheck>> SchemaCheck::compile(Json schema) {
  auto compiled = std::make_unique<Compiled>();
  compiled->json = std::move(schema);
  try {
    const Json reduced = for_valijson(compiled->json);
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(Adapter(reduced), compiled->schema);
    compiled->flat.emplace(compiled->json);
  } catch (const std::exception& e) {
    return Error{Code::kInvalid, fmt::format("schema: {}", e.what())};
  }
  return std::shared_ptr<const SchemaCheck>(new SchemaCheck(std::move(compiled)));
}

bool SchemaCheck::accepts(const Json& object) const { return compiled_->flat->accepts(object); }

FieldErrors SchemaCheck::find_errors(const Json& object) const {
  return accepts(object) ? FieldErrors() : explain(object);
}

FieldErrors SchemaCheck::explain(const Json& object) const {
  const Json document = without_nulls(object);
  const SchemaTree tree(compiled_->json);
  FieldErrors errors = check_fields(tree, document);
  valijson::Validator validator;
  if (validator.validate(compiled_->schema, Adapter(document), nullptr)) return errors;

  const Json reported = first_values(document, kMaxReportedValues);
  valijson::ValidationResults results;
  if (validator.validate(compiled_->schema, Adapter(reported), &results)) {
    errors.push_back(
        {FieldErrorType::kInvalid, "spec", "{...}",
         fmt::format("breaks its schema, beyond the first {} values or below a very long key",
                     kMaxReportedValues)});
  }
  for (const auto& error : deepest(results)) errors.push_back(locate(tree, reported, error));
  return errors;
}

}  // namespace nervex::job
