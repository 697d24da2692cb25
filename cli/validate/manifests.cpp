#include "cli/validate/manifests.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

namespace nervex::cli {
namespace {

constexpr int kMaxDepth = 200;
// For all documents together: anchors can expand a small file.
constexpr std::size_t kMaxValues = 1'000'000;

struct TooLarge {};

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Handles the prefixes 0x, 0o, 0b, and 0, which is also octal.
int take_base(std::string_view& digits) {
  if (digits.size() < 2 || digits.front() != '0') return 10;
  const char kind = digits[1];
  const int base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
  if (kind == 'x' || kind == 'o' || kind == 'b') digits.remove_prefix(2);
  return base;
}

std::optional<Json> parse_integer(std::string_view text) {
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

// The API server gets 2.0 of kubectl as 2, and reads an integer.
Json whole_or_fraction(double number) {
  constexpr double kEndOfIntegers = 9.2e18;
  const bool is_whole = std::trunc(number) == number && std::abs(number) < kEndOfIntegers;
  return is_whole ? Json(static_cast<std::int64_t>(number)) : Json(number);
}

void read_whole_numbers(Json& value) {
  if (value.is_number_float()) value = whole_or_fraction(value.get<double>());
  if (!value.is_structured()) return;
  for (auto& member : value) read_whole_numbers(member);
}

std::optional<Json> parse_float(std::string_view text) {
  constexpr std::string_view kNumber = "+-.0123456789eE";
  if (text.find_first_not_of(kNumber) != std::string_view::npos) return std::nullopt;
  if (text.find_first_of("0123456789") == std::string_view::npos) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return whole_or_fraction(number);
}

// A number, with or without underscores between its digits.
std::optional<Json> parse_number(std::string_view text) {
  if (text.empty() || std::string_view("+-.0123456789").find(text.front()) == text.npos) {
    return std::nullopt;
  }
  std::string plain(text);
  std::erase(plain, '_');
  if (auto number = parse_integer(plain)) return number;
  return parse_float(plain);
}

// YAML 1.1, as kubectl reads it (github.com/yaml/go-yaml v2, resolve.go).
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
  if (auto number = parse_number(text)) return *std::move(number);
  return text;
}

// JSON keys are texts: kubectl makes "true" of y, and "8080" of 0x1f90.
std::string member_key(const YAML::Node& node) {
  if (!node.IsScalar()) throw YAML::Exception(node.Mark(), "a key must be a string");
  const Json key = scalar(node);
  return key.is_boolean() || key.is_number() ? kube::to_text(key) : node.Scalar();
}

Json to_json(const YAML::Node& node, int depth, std::size_t& left);

// YAML 1.1's merge key, `<<: *base`, which kubectl supports: adds the members of other maps. The
// map's own members win over all, those of an earlier map over those of a later one.
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
    const std::string key = member_key(member.first);
    if (object.contains(key)) {  // kubectl would use the last one
      throw YAML::Exception(member.first.Mark(), fmt::format("duplicate key {}", key));
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
  if (is_list && items != nullptr && items->is_array()) {  // also NerveXJobList
    for (const Json& item : *items) add(item, line, manifests);
    return;
  }
  manifests.push_back({std::move(object), line});
}

// JSON that is not valid YAML: tabs before members, pairs of \u escapes.
std::optional<Json> as_json(std::string_view text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos || text[start] != '{') return std::nullopt;
  auto json = kube::parse_json(text, kMaxDepth);
  if (!json) return std::nullopt;
  read_whole_numbers(*json);
  return *std::move(json);
}

bool is_indented_by_tab(std::string_view text) {
  for (auto tab = text.find('\t'); tab != text.npos; tab = text.find('\t', tab + 1)) {
    const auto before = text.find_last_not_of(" \t", tab);
    if (before == text.npos || text[before] == '\n') return true;
  }
  return false;
}

// The position of the first byte that is not UTF-8, which kubectl requires; npos: none.
std::size_t find_foreign_byte(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return text.npos;  // UTF-16
  std::size_t missing = 0;  // of the current character
  std::size_t begin = 0;    // of that character
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool goes_on = byte >= 0x80 && byte < 0xC0;
    if (missing > 0 && !goes_on) return begin;
    if (missing == 0) begin = i;
    if (byte == 0 || byte >= 0xF8 || (missing == 0 && goes_on)) return i;
    missing = goes_on ? missing - 1 : byte < 0x80 ? 0 : byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  }
  return missing > 0 ? begin : text.npos;
}

// Hints for known formats that are not YAML.
std::string_view hint_for(std::string_view text) {
  if (text.find("{{") != text.npos) {
    return ": if this is a template, check what it renders: "
           "`helm template CHART | nervexctl validate -f -`";
  }
  if (is_indented_by_tab(text)) return ": indent YAML with spaces, not with tabs";
  return "";
}

}  // namespace

Result<std::vector<Manifest>> parse_manifests(std::string_view text, int* error_line) {
  std::vector<Manifest> manifests;
  const auto broken_at = [&](int line, const std::string& why) {
    if (error_line != nullptr) *error_line = line;
    return Error{Code::kInvalid, fmt::format("line {}, {}", line, why)};
  };
  const auto broken = [&](const YAML::Exception& e) {
    return broken_at(
        std::max(e.mark.line, 0) + 1,
        fmt::format("column {}: {}{}", std::max(e.mark.column, 0) + 1, e.msg, hint_for(text)));
  };
  const Error too_large{
      Code::kInvalid,
      fmt::format("more than {} values, or more than {} levels deep", kMaxValues, kMaxDepth)};
  if (const auto at = find_foreign_byte(text); at != text.npos) {
    const auto lines =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return broken_at(
        static_cast<int>(lines) + 1,
        fmt::format("byte 0x{:02X} is not valid UTF-8: is this a text file, saved as UTF-8?",
                    static_cast<unsigned char>(text[at])));
  }
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(std::string(text));
  } catch (const YAML::DeepRecursion&) {
    return too_large;
  } catch (const YAML::Exception& e) {
    auto json = as_json(text);
    if (!json) return broken(e);
    add(*std::move(json), 1, manifests);
    return manifests;
  }
  std::size_t left = kMaxValues;
  try {
    for (const YAML::Node& document : documents) {
      add(to_json(document, 0, left), std::max(document.Mark().line, 0) + 1, manifests);
    }
  } catch (const TooLarge&) {
    return too_large;
  } catch (const YAML::Exception& e) {
    return broken(e);
  }
  return manifests;
}

}  // namespace nervex::cli
