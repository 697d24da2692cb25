#include "kube/model/label_selector.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace nervex::kube {
namespace {

using Operator = LabelRequirement::Operator;

constexpr std::array<std::pair<std::string_view, Operator>, 4> kOperators{{
    {"In", Operator::kIn},
    {"NotIn", Operator::kNotIn},
    {"Exists", Operator::kExists},
    {"DoesNotExist", Operator::kDoesNotExist},
}};

Error invalid_selector(std::string_view field, std::string_view what) {
  return Error{Code::kInvalid, fmt::format("{}: {}", field, what)};
}

Result<LabelRequirement> decode_expression(const Json& from, const std::string& where) {
  LabelRequirement requirement;
  requirement.key = string_at(from, {"key"});
  if (requirement.key.empty()) return invalid_selector(where + ".key", "is required");
  const auto known = std::find_if(kOperators.begin(), kOperators.end(), [&](const auto& each) {
    return each.first == text_at(from, {"operator"});
  });
  if (known == kOperators.end()) {
    return invalid_selector(where + ".operator", "must be In, NotIn, Exists or DoesNotExist");
  }
  requirement.op = known->second;
  for (const Json& value : array_at(from, {"values"})) {
    if (!value.is_string()) return invalid_selector(where + ".values", "must be strings");
    requirement.values.push_back(value.get<std::string>());
  }
  const bool compares = requirement.op == Operator::kIn || requirement.op == Operator::kNotIn;
  if (compares == requirement.values.empty()) {
    return invalid_selector(where + ".values", compares
                                                   ? "is required for In and NotIn"
                                                   : "must be empty for Exists and DoesNotExist");
  }
  return requirement;
}

}  // namespace

bool holds(const LabelRequirement& requirement, std::optional<std::string_view> value) {
  const bool exists = value.has_value();
  const auto is_listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), *value) !=
           requirement.values.end();
  };
  switch (requirement.op) {
    case Operator::kIn:
      return exists && is_listed();
    case Operator::kNotIn:
      return !exists || !is_listed();
    case Operator::kExists:
      return exists;
    case Operator::kDoesNotExist:
      break;
  }
  return !exists;
}

bool matches(const LabelSelector& selector, const StringMap& labels) {
  return matches(selector, [&](const std::string& key) -> std::optional<std::string_view> {
    const auto found = labels.find(key);
    if (found == labels.end()) return std::nullopt;
    return found->second.str();
  });
}

Labels list_labels(const Json& labels) {
  Labels texts;
  if (!labels.is_object()) return texts;
  for (const auto& [key, value] : labels.items()) {
    if (value.is_string()) texts.emplace_back(key, value.get_ref<const std::string&>());
  }
  return texts;
}

bool selects(const LabelSelector& selector, const Labels& labels) {
  return matches(selector, [&](const std::string& key) -> std::optional<std::string_view> {
    const auto at = std::find_if(labels.begin(), labels.end(),
                                 [&](const auto& label) { return label.first == key; });
    if (at == labels.end()) return std::nullopt;
    return at->second;
  });
}

Result<LabelSelector> decode_label_selector(const Json& selector) {
  if (!selector.is_object()) return Error{Code::kInvalid, "must be an object"};
  LabelSelector out;
  if (const Json* labels = find(selector, {"matchLabels"}); labels != nullptr) {
    if (!labels->is_object()) return invalid_selector("matchLabels", "must be an object");
    for (const auto& [key, value] : labels->items()) {
      if (!value.is_string()) return invalid_selector("matchLabels." + key, "must be a string");
      out.requirements.push_back({key, Operator::kIn, {value.get<std::string>()}});
    }
  }
  int entries = 0;
  for (const Json& expression : array_at(selector, {"matchExpressions"})) {
    auto requirement =
        decode_expression(expression, fmt::format("matchExpressions[{}]", entries++));
    if (!requirement) return requirement.error();
    out.requirements.push_back(*std::move(requirement));
  }
  return out;
}

std::vector<Json> list_requirements(const Json& selector) {
  std::vector<Json> out;
  const Json* labels = find(selector, {"matchLabels"});
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      out.push_back({{"key", key}, {"operator", "In"}, {"values", Json::array({value})}});
    }
  }
  for (const Json& expression : array_at(selector, {"matchExpressions"})) {
    Json one{{"key", string_at(expression, {"key"})},
             {"operator", string_at(expression, {"operator"})}};
    if (const Json& values = array_at(expression, {"values"}); !values.empty()) {
      one["values"] = values;
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::string hash_term(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a, 64 bits
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace nervex::kube
