#include "cli/submit/set_field.h"

#include <charconv>
#include <optional>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/validate/manifests.h"

namespace nervex::cli {
namespace {

using Step = std::variant<std::string, std::size_t>;  // a member, or an index

Error wrong_path(const std::string& path, const std::string& why) {
  return {Code::kInvalid, fmt::format("--set {}: {}", path, why)};
}

// `[0]` or `["a.b"]`, from `at` on; moves `at` behind it.
std::optional<Step> parse_bracket(const std::string& path, std::size_t& at) {
  const bool is_quoted = at + 1 < path.size() && path[at + 1] == '"';
  const auto end = path.find(is_quoted ? "\"]" : "]", at + (is_quoted ? 2 : 1));
  if (end == std::string::npos) return std::nullopt;
  const std::string inside = path.substr(at + (is_quoted ? 2 : 1), end - at - (is_quoted ? 2 : 1));
  at = end + (is_quoted ? 2 : 1);
  if (is_quoted) return Step(inside);
  std::size_t index = 0;
  const auto parsed = std::from_chars(inside.data(), inside.data() + inside.size(), index);
  if (!is_digits(inside) || parsed.ec != std::errc()) return std::nullopt;
  return Step(index);
}

Result<std::vector<Step>> parse_path(const std::string& path) {
  std::vector<Step> steps;
  for (std::size_t at = 0; at < path.size();) {
    if (path[at] == '[' && !steps.empty()) {
      const auto step = parse_bracket(path, at);
      if (!step) return wrong_path(path, "a bracket holds an index or a \"quoted name\"");
      steps.push_back(*step);
      continue;
    }
    if (path[at] == '.' && !steps.empty()) ++at;
    const auto end = std::min(path.find_first_of(".[", at), path.size());
    if (end == at) return wrong_path(path, "a name is missing");
    steps.emplace_back(path.substr(at, end - at));
    at = end;
  }
  if (steps.empty()) return wrong_path(path, "must be PATH=VALUE");
  const auto& first = std::get<std::string>(steps.front());
  if (first == "metadata" || first == "spec") return steps;
  const bool is_meta =
      first == "name" || first == "namespace" || first == "labels" || first == "annotations";
  steps.insert(steps.begin(), Step(std::string(is_meta ? "metadata" : "spec")));
  return steps;
}

// The position of the "=" that ends the path: not one inside brackets.
std::size_t find_equals(const std::string& assignment) {
  bool is_inside = false;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    if (assignment[i] == '[') is_inside = true;
    if (assignment[i] == ']') is_inside = false;
    if (assignment[i] == '=' && !is_inside) return i;
  }
  return std::string::npos;
}

Result<Json> parse_value(const std::string& path, const std::string& text) {
  // As the value of a member, so that any scalar is a document.
  const auto parsed = parse_manifests("value: " + text);
  if (!parsed) return wrong_path(path, parsed.error().message);
  return parsed->at(0).object.value("value", Json());
}

// The value at that step, created if it is missing; nullptr: not possible.
Json* descend(Json& value, const Step& step) {
  if (const auto* name = std::get_if<std::string>(&step)) {
    if (value.is_null()) value = Json::object();
    return value.is_object() ? &value[*name] : nullptr;
  }
  const std::size_t index = std::get<std::size_t>(step);
  if (value.is_null()) value = Json::array();
  if (!value.is_array() || index > value.size()) return nullptr;
  if (index == value.size()) value.push_back(nullptr);
  return &value[index];
}

void erase(Json& parent, const Step& step) {
  if (const auto* name = std::get_if<std::string>(&step)) {
    parent.erase(*name);
  } else {
    parent.erase(std::get<std::size_t>(step));
  }
}

}  // namespace

Result<Nothing> set_field(Json& object, const std::string& assignment) {
  const auto equals = find_equals(assignment);
  if (equals == std::string::npos) return wrong_path(assignment, "must be PATH=VALUE");
  const std::string path = assignment.substr(0, equals);
  const auto steps = parse_path(path);
  if (!steps) return steps.error();
  auto value = parse_value(path, assignment.substr(equals + 1));
  if (!value) return value.error();

  Json changed = object;
  Json* parent = nullptr;
  Json* at = &changed;
  for (const Step& step : *steps) {
    parent = at;
    at = descend(*at, step);
    if (at == nullptr) {
      return wrong_path(path, "the path goes through a value of another type, or beyond a list");
    }
  }
  if (value->is_null()) {
    erase(*parent, steps->back());
  } else {
    *at = *std::move(value);
  }
  object = std::move(changed);
  return ok();
}

}  // namespace nervex::cli
