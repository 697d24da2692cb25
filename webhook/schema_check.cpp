#include "webhook/schema_check.h"

#include <algorithm>
#include <exception>
#include <vector>

#include <fmt/format.h>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "webhook/field_walk.h"
#include "webhook/prune.h"
#include "webhook/schema_tree.h"
#include "webhook/schema_verdict.h"

namespace nervex::webhook {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

// The schema without what field_walk.h tells, so that nothing is told twice.
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

// Errors repeat for each ancestor of what is wrong. An ancestor comes right before what is below it
// in the order of their contexts.
std::vector<valijson::ValidationResults::Error> deepest(valijson::ValidationResults& results) {
  std::vector<valijson::ValidationResults::Error> all(results.begin(), results.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.context < b.context; });
  std::vector<valijson::ValidationResults::Error> kept;
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

// `context` is "<root>", "[spec]", "[containers]", "[0]".
job::FieldError locate(const SchemaTree& tree, const Json& document,
                       const valijson::ValidationResults::Error& error) {
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
  } catch (const std::exception& e) {
    return Error{Code::kInvalid, fmt::format("schema: {}", e.what())};
  }
  return std::shared_ptr<const SchemaCheck>(new SchemaCheck(std::move(compiled)));
}

job::FieldErrors SchemaCheck::errors_of(const Json& object) const {
  const Json document = without_nulls(object);
  const SchemaTree tree(compiled_->json);
  job::FieldErrors errors = check_fields(tree, document);
  valijson::Validator validator;
  if (validator.validate(compiled_->schema, Adapter(document), nullptr)) return errors;

  const Json reported = first_values(document, kMaxReportedValues);
  valijson::ValidationResults results;
  if (validator.validate(compiled_->schema, Adapter(reported), &results)) {
    errors.push_back(
        {job::FieldErrorType::kInvalid, "spec", "{...}",
         fmt::format("breaks its schema, beyond the first {} values or below a very long key",
                     kMaxReportedValues)});
  }
  for (const auto& error : deepest(results)) errors.push_back(locate(tree, reported, error));
  return errors;
}

}  // namespace nervex::webhook
