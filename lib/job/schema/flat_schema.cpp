#include "job/schema/flat_schema.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "job/schema/schema_tree.h"

namespace nervex::job {
namespace {

enum TypeBit : std::uint8_t {
  kObject = 1,
  kArray = 2,
  kString = 4,
  kInteger = 8,
  kNumber = 16,
  kBoolean = 32,
};

constexpr std::array<std::pair<std::string_view, TypeBit>, 6> kTypes{{{"object", kObject},
                                                                      {"array", kArray},
                                                                      {"string", kString},
                                                                      {"integer", kInteger},
                                                                      {"number", kNumber},
                                                                      {"boolean", kBoolean}}};

// 0: unknown type.
std::uint8_t type_bit(const Json& name) {
  for (const auto& [known, bit] : kTypes) {
    if (name == known) return bit;
  }
  return 0;
}

// The value's types; an integer is also a number.
std::uint8_t types_of_value(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      return kObject;
    case Json::value_t::array:
      return kArray;
    case Json::value_t::string:
      return kString;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return kInteger | kNumber;
    case Json::value_t::number_float:
      return kNumber;
    case Json::value_t::boolean:
      return kBoolean;
    default:
      return 0;
  }
}

// Shorter keys first: most keys differ in length.
bool is_before(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

bool is_int64(const Json& value) {
  return !value.is_number_unsigned() ||
         value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
}

bool is_int32(const Json& value) {
  const auto number = value.get<std::int64_t>();
  return number <= std::numeric_limits<std::int32_t>::max() &&
         number >= std::numeric_limits<std::int32_t>::min();
}

// Number of code points in valid UTF-8.
std::size_t count_code_points(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

FlatSchema::FlatSchema(const Json& schema) {
  Definitions made;
  add(schema, schema, made);
}

FlatSchema::Index FlatSchema::add(const Json& schema, const Json& root, Definitions& made) {
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    return add_reference(reference->get<std::string>(), root, made);
  }
  const auto index = static_cast<Index>(nodes_.size());
  nodes_.emplace_back();
  Node node;  // nodes_ grows below
  node.is_closed = job::is_closed(schema);
  for (const auto& [keyword, value] : schema.items()) read(node, keyword, value, root, made);
  for (const Json& name : schema.value("required", Json::array())) {
    const auto field = std::find_if(node.fields.begin(), node.fields.end(),
                                    [&](const Field& one) { return name == one.name; });
    if (field == node.fields.end() || field->is_required) {
      node.is_known = false;
    } else {
      field->is_required = true;
      ++node.required;
    }
  }
  nodes_[index] = std::move(node);
  return index;
}

FlatSchema::Index FlatSchema::add_reference(const std::string& reference, const Json& root,
                                            Definitions& made) {
  const std::string name =
      reference.starts_with(kDefinitions) ? reference.substr(kDefinitions.size()) : "";
  if (const auto known = made.find(name); known != made.end()) return known->second;
  const Json* definition = name.empty() ? nullptr : kube::find(root, {"definitions", name});
  if (definition == nullptr || definition->contains("$ref")) {
    nodes_.emplace_back().is_known = false;
    return static_cast<Index>(nodes_.size() - 1);
  }
  made[name] = static_cast<Index>(nodes_.size());  // before its parts, which may refer to it
  return add(*definition, root, made);
}

void FlatSchema::read(Node& node, const std::string& keyword, const Json& value, const Json& root,
                      Definitions& made) {
  if (keyword == "properties") {
    for (const auto& [name, child] : value.items()) {
      const Index index = add(child, root, made);
      node.fields.push_back({name, index});
    }
    std::sort(node.fields.begin(), node.fields.end(),
              [](const Field& a, const Field& b) { return is_before(a.name, b.name); });
  } else if (keyword == "additionalProperties") {
    node.others = add(value, root, made);
  } else if (keyword == "items") {
    node.items = add(value, root, made);
  } else if (keyword == "type") {
    for (const Json& name : value.is_array() ? value : Json::array({value})) {
      node.types |= type_bit(name);
      node.is_known = node.is_known && type_bit(name) != 0;
    }
  } else if (keyword == "enum") {
    for (const Json& one : value) {
      if (one.is_string()) node.allowed.push_back(one.get<std::string>());
    }
    node.is_known = node.is_known && !node.allowed.empty();
  } else if (keyword == "format") {
    node.is_int32 = value == "int32";
  } else if (keyword == "minimum") {
    node.minimum = value.get<double>();
  } else if (keyword == "maximum") {
    node.maximum = value.get<double>();
  } else if (keyword == "minItems" || keyword == "minLength") {
    node.is_known = node.is_known && !node.min_size;  // a node stores one of the two
    node.min_size = value.get<std::size_t>();
  } else if (keyword == "maxItems" || keyword == "maxLength") {
    node.is_known = node.is_known && !node.max_size;
    node.max_size = value.get<std::size_t>();
  } else if (keyword != "required" && keyword != "definitions" &&
             keyword != "x-kubernetes-preserve-unknown-fields") {
    node.is_known = false;
  }
}

bool FlatSchema::accepts(const Json& value, Index index) const {
  if (index == kAnything) return true;
  const Node& node = nodes_[index];
  if (!node.is_known) return false;
  const std::uint8_t types = types_of_value(value);
  if (node.types != 0 && (node.types & types) == 0) return false;
  if (!node.allowed.empty()) {
    if (!value.is_string()) return false;
    const auto& text = value.get_ref<const std::string&>();
    if (std::find(node.allowed.begin(), node.allowed.end(), text) == node.allowed.end()) {
      return false;
    }
  }
  if (types == kObject) return accepts_object(value, node);
  if (types == kArray) return accepts_array(value, node);
  if (types == kString && (node.min_size || node.max_size)) {
    const auto& text = value.get_ref<const std::string&>();
    const std::size_t length = count_code_points(text);
    return text.find('\0') == std::string::npos && length >= node.min_size.value_or(0) &&
           length <= node.max_size.value_or(length);
  }
  if ((types & kNumber) != 0) {
    const bool is_integer = (types & kInteger) != 0;
    if (is_integer && (!is_int64(value) || (node.is_int32 && !is_int32(value)))) return false;
    const auto number = value.get<double>();
    return number >= node.minimum.value_or(number) && number <= node.maximum.value_or(number);
  }
  return types != 0;
}

bool FlatSchema::accepts_object(const Json& value, const Node& node) const {
  std::size_t required = 0;
  for (auto at = value.begin(); at != value.end(); ++at) {
    if (at->is_null()) continue;  // null is absent for the API server
    const auto field = std::lower_bound(
        node.fields.begin(), node.fields.end(), at.key(),
        [](const Field& one, const std::string& key) { return is_before(one.name, key); });
    const bool is_named = field != node.fields.end() && field->name == at.key();
    if (!is_named && node.is_closed) return false;
    if (is_named && field->is_required) ++required;
    if (!accepts(*at, is_named ? field->node : node.others)) return false;
  }
  return required == node.required;
}

bool FlatSchema::accepts_array(const Json& value, const Node& node) const {
  if (value.size() < node.min_size.value_or(0)) return false;
  if (node.max_size && value.size() > *node.max_size) return false;
  return std::all_of(value.begin(), value.end(),
                     [&](const Json& item) { return accepts(item, node.items); });
}

}  // namespace nervex::job
