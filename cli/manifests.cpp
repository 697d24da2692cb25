#include "cli/manifests.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
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

// Of the prefixes 0x, 0o, 0b and 0, which is octal, too.
int take_base(std::string_view& digits) {
  if (digits.size() < 2 || digits.front() != '0') return 10;
  const char kind = digits[1];
  const int base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
  if (kind == 'x' || kind == 'o' || kind == 'b') digits.remove_prefix(2);
  return base;
}

std::optional<Json> integer_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text;
  if (negative || text.starts_with('+')) digits.remove_prefix(1);
  const int base = take_base(digits);
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
  // 2.0 is written as 2 to the API server, which then takes it for an integer.
  constexpr double kEndOfIntegers = 9.2e18;
  if (std::trunc(number) == number && std::abs(number) < kEndOfIntegers) {
    return Json(static_cast<std::int64_t>(number));
  }
  return Json(number);
}

// A number with or without underscores between its digits.
std::optional<Json> number_of(std::string_view text) {
  if (text.empty() || std::string_view("+-.0123456789").find(text.front()) == text.npos) {
    return std::nullopt;
  }
  std::string plain(text);
  std::erase(plain, '_');
  if (auto number = integer_of(plain)) return number;
  return float_of(plain);
}

// As YAML 1.1 has it, which kubectl reads (github.com/yaml/go-yaml v2, resolve.go).
Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return text;  // in quotes
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (is_one_of(text, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}))
    return true;
  if (is_one_of(text,
                {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})) {
    return false;
  }
  if (auto number = number_of(text)) return *std::move(number);
  return text;
}

// Keys of JSON are texts: kubectl makes "true" of y, and "8080" of 0x1f90.
std::string key_of(const YAML::Node& node) {
  if (!node.IsScalar()) throw YAML::Exception(node.Mark(), "a key must be a text");
  const Json key = scalar(node);
  return key.is_boolean() || key.is_number() ? kube::to_text(key) : node.Scalar();
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
    const std::string key = key_of(member.first);
    if (object.contains(key)) {  // kubectl would take the last one
      throw YAML::Exception(member.first.Mark(), fmt::format("the key {} is there twice", key));
    }
    object[key] = to_json(member.second, depth + 1, left);
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
  const Json* items = kube::find(object, {"items"});
  const bool is_list = kube::string_at(object, {"kind"}).ends_with("List");
  if (is_list && items != nullptr && items->is_array()) {  // NerveXJobList, too
    for (const Json& item : *items) add(item, line, manifests);
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
