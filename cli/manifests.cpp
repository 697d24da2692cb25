#include "cli/manifests.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace nervex::cli {
namespace {

constexpr int kMaxDepth = 200;
// Of all documents together: anchors can make much of a small file.
constexpr std::size_t kMaxValues = 1'000'000;

struct TooLarge {};

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<Json> integer_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text;
  if (negative || text.starts_with('+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 2 && digits.front() == '0' && (digits[1] == 'x' || digits[1] == 'o')) {
    base = digits[1] == 'x' ? 16 : 8;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.front() == '0') {
    base = 8;
  }
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number, base);
  if (digits.empty() || error != std::errc{} || stop != end) return std::nullopt;
  constexpr std::uint64_t kMax = INT64_MAX;
  if (!negative) return number <= kMax ? Json(static_cast<std::int64_t>(number)) : Json(number);
  if (number > kMax) return std::nullopt;
  return Json(-static_cast<std::int64_t>(number));
}

std::optional<Json> float_of(std::string_view text) {
  constexpr std::string_view kNumber = "+-.0123456789eE";
  if (text.find_first_not_of(kNumber) != std::string_view::npos) return std::nullopt;
  if (text.find_first_of("0123456789") == std::string_view::npos) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return Json(number);
}

Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return text;  // in quotes
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return true;
  if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) {
    return false;
  }
  if (auto number = integer_of(text)) return *std::move(number);
  if (auto number = float_of(text)) return *std::move(number);
  return text;
}

Json to_json(const YAML::Node& node, int depth, std::size_t& left);

// YAML 1.1's merge key, `<<: *base`, which kubectl knows too: the members of other maps, of which
// the map's own win over all, and those of an earlier one over those of a later one.
bool is_merge_key(const YAML::Node& key) {
  return key.IsScalar() && key.Scalar() == "<<" && key.Tag() != "!";
}

void merge(const YAML::Node& base, int depth, std::size_t& left, Json& object) {
  if (base.IsMap()) {
    const Json members = to_json(base, depth, left);
    for (const auto& [key, value] : members.items()) object.emplace(key, value);
    return;
  }
  const bool is_list_of_maps =
      base.IsSequence() &&
      std::all_of(base.begin(), base.end(), [](const auto& item) { return item.IsMap(); });
  if (!is_list_of_maps) {
    throw YAML::Exception(base.Mark(), "`<<` merges a map or a list of maps, and this is neither");
  }
  for (const auto& item : base) merge(item, depth + 1, left, object);
}

Json map_to_json(const YAML::Node& node, int depth, std::size_t& left) {
  Json object = Json::object();
  for (const auto& member : node) {
    if (is_merge_key(member.first)) continue;
    if (object.contains(member.first.Scalar())) {  // kubectl would take the last one
      throw YAML::Exception(member.first.Mark(),
                            fmt::format("the key {} is there twice", member.first.Scalar()));
    }
    object[member.first.Scalar()] = to_json(member.second, depth + 1, left);
  }
  for (const auto& member : node) {
    if (is_merge_key(member.first)) merge(member.second, depth + 1, left, object);
  }
  return object;
}

Json to_json(const YAML::Node& node, int depth, std::size_t& left) {
  if (depth > kMaxDepth || left == 0) throw TooLarge{};
  --left;
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return scalar(node);
    case YAML::NodeType::Sequence: {
      Json list = Json::array();
      for (const auto& item : node) list.push_back(to_json(item, depth + 1, left));
      return list;
    }
    case YAML::NodeType::Map:
      return map_to_json(node, depth, left);
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined:
      break;
  }
  return nullptr;
}

void add(Json object, int line, std::vector<Manifest>& manifests) {
  if (object.is_null()) return;
  if (kube::string_at(object, {"kind"}) == "List") {
    for (const Json& item : kube::array_at(object, {"items"})) add(item, line, manifests);
    return;
  }
  manifests.push_back({std::move(object), line});
}

}  // namespace

Result<std::vector<Manifest>> parse_manifests(std::string_view text) {
  std::vector<Manifest> manifests;
  std::size_t left = kMaxValues;
  try {
    for (const YAML::Node& document : YAML::LoadAll(std::string(text))) {
      add(to_json(document, 0, left), std::max(document.Mark().line, 0) + 1, manifests);
    }
  } catch (const TooLarge&) {
    return Error{Code::kInvalid, fmt::format("more than {} values, or deeper than {} levels",
                                             kMaxValues, kMaxDepth)};
  } catch (const YAML::Exception& e) {
    return Error{Code::kInvalid,
                 fmt::format("line {}, column {}: {}", e.mark.line + 1, e.mark.column + 1, e.msg)};
  }
  return manifests;
}

}  // namespace nervex::cli
