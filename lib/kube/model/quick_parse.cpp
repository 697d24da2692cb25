#include "kube/model/quick_parse.h"

#include <utility>

#include <simdjson.h>

namespace nervex::kube {
namespace {

using Element = simdjson::dom::element;
using ElementType = simdjson::dom::element_type;

// `level`: of the value, below the document.
Json convert_value(Element element, int level, const MembersAt& skipped);

Json convert_object(simdjson::dom::object object, int level, const MembersAt& skipped) {
  Json made(Json::value_t::object);
  auto& members = made.get_ref<Json::object_t&>();
  for (const auto [key, element] : object) {
    if (level == skipped.level && key == skipped.key) continue;
    // Most writers sort keys, so inserting at the end is fast. Of two equal keys the last wins.
    members.insert_or_assign(members.end(), std::string(key),
                             convert_value(element, level + 1, skipped));
  }
  return made;
}

Json convert_array(simdjson::dom::array array, int level, const MembersAt& skipped) {
  Json made(Json::value_t::array);
  auto& items = made.get_ref<Json::array_t&>();
  items.reserve(array.size());
  for (const Element element : array) items.push_back(convert_value(element, level + 1, skipped));
  return made;
}

// nlohmann stores non-negative numbers as unsigned.
Json convert_number(std::int64_t number) {
  return number < 0 ? Json(number) : Json(static_cast<std::uint64_t>(number));
}

Json convert_value(Element element, int level, const MembersAt& skipped) {
  switch (element.type()) {
    case ElementType::OBJECT:
      return convert_object(element.get_object().value_unsafe(), level, skipped);
    case ElementType::ARRAY:
      return convert_array(element.get_array().value_unsafe(), level, skipped);
    case ElementType::STRING:
      return std::string(element.get_string().value_unsafe());
    case ElementType::INT64:
      return convert_number(element.get_int64().value_unsafe());
    case ElementType::UINT64:
      return element.get_uint64().value_unsafe();
    case ElementType::DOUBLE:
      return element.get_double().value_unsafe();
    case ElementType::BOOL:
      return element.get_bool().value_unsafe();
    default:
      return nullptr;
  }
}

}  // namespace

std::optional<Json> quick_parse(std::string_view text, int max_depth, MembersAt skipped) {
  if (text.empty() || text.size() > kMaxQuickJson) return std::nullopt;
  simdjson::dom::parser parser;
  if (parser.allocate(text.size(), static_cast<std::size_t>(max_depth)) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  Element root;
  if (parser.parse(text.data(), text.size()).get(root) != simdjson::SUCCESS) return std::nullopt;
  return convert_value(root, 0, skipped);
}

}  // namespace nervex::kube
