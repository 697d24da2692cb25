#include "kube/model/json.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "kube/model/quick_parse.h"

namespace nervex::kube {
namespace {

// The end of the string that starts with the quotation mark at `begin`, or the end of the text.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  for (std::size_t at = text.find('"', begin + 1); at != std::string_view::npos;
       at = text.find('"', at + 1)) {
    std::size_t backslashes = 0;
    while (text[at - 1 - backslashes] == '\\') ++backslashes;  // ends at `begin`
    if (backslashes % 2 == 0) return at;
  }
  return text.size();
}

// Calls `see` with each character outside strings.
template <typename See>
void outside_strings(std::string_view text, See see) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      i = end_of_string(text, i);
    } else {
      see(text[i]);
    }
  }
}

// Counts on the text, because nlohmann has no depth limit and its callback doubles the time. Exact
// for valid JSON; the parser reports other texts.
bool is_deeper_than(int max_depth, std::string_view text) {
  int depth = 0;
  int deepest = 0;
  outside_strings(text, [&](char c) {
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
  });
  return deepest > max_depth;
}

// "[json.exception.parse_error.101] parse error at ..." without the library's label and most of the
// last token, which may be as long as the text.
std::string_view shortened(std::string_view what) {
  constexpr std::size_t kMaxLength = 300;
  const auto end = what.find("] ");
  return (end == std::string_view::npos ? what : what.substr(end + 2)).substr(0, kMaxLength);
}

}  // namespace

Result<Json> parse_json(std::string_view text, int max_depth, MembersAt skipped) {
  if (auto value = quick_parse(text, max_depth, skipped)) return *std::move(value);
  if (is_deeper_than(max_depth, text)) {
    return Error{Code::kInvalid, fmt::format("JSON is nested deeper than {}", max_depth)};
  }
  // nlohmann takes it for the end of the text and would ignore what follows.
  if (text.find('\0') != std::string_view::npos) {
    return Error{Code::kInvalid, "not JSON: it contains a zero byte"};
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    return not_json(e);
  }
}

Error not_json(const Json::exception& error) {
  return {Code::kInvalid, fmt::format("not JSON: {}", shortened(error.what()))};
}

JsonCount count_json(std::string_view text) {
  JsonCount count;
  std::size_t texts = 0;      // includes keys
  bool may_have_key = false;  // keeps the count an upper bound for invalid JSON
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      ++texts;
      i = end_of_string(text, i);
    } else if (c == ',' || c == '[' || c == '{') {
      ++count.values;
      if (c != ',') ++count.containers;
      may_have_key = true;
    } else if (c == ':' && may_have_key) {
      ++count.members;
      may_have_key = false;
    }
  }
  count.strings = texts - std::min(texts, count.members);
  return count;
}

namespace {

struct Marks {
  std::size_t commas = 0;
  std::size_t brackets = 0;  // opening ones
  std::size_t braces = 0;
  std::size_t colons = 0;
  std::size_t quotes = 0;
};

// Adds the counts of at most 255 characters: one-byte counters allow 16 additions at a time.
void count_marks(std::string_view block, Marks& marks) {
  std::uint8_t commas = 0;
  std::uint8_t brackets = 0;
  std::uint8_t braces = 0;
  std::uint8_t colons = 0;
  std::uint8_t quotes = 0;
  for (const char c : block) {
    commas = static_cast<std::uint8_t>(commas + static_cast<int>(c == ','));
    brackets = static_cast<std::uint8_t>(brackets + static_cast<int>(c == '['));
    braces = static_cast<std::uint8_t>(braces + static_cast<int>(c == '{'));
    colons = static_cast<std::uint8_t>(colons + static_cast<int>(c == ':'));
    quotes = static_cast<std::uint8_t>(quotes + static_cast<int>(c == '"'));
  }
  marks.commas += commas;
  marks.brackets += brackets;
  marks.braces += braces;
  marks.colons += colons;
  marks.quotes += quotes;
}

}  // namespace

JsonCount count_json_at_most(std::string_view text) {
  constexpr std::size_t kBlock = 240;
  Marks marks;
  for (; !text.empty(); text.remove_prefix(std::min(kBlock, text.size()))) {
    count_marks(text.substr(0, kBlock), marks);
  }
  const std::size_t openings = marks.brackets + marks.braces;
  const std::size_t values = 1 + marks.commas + openings;
  return {.values = values,
          .members = std::min(marks.colons, values),
          .containers = openings,
          .strings = (marks.quotes + 1) / 2};
}

std::size_t document_bytes(const Json& value) {
  constexpr std::size_t kValue = sizeof(Json);
  constexpr std::size_t kBlock = 48;   // a container or a text, with the allocator's share
  constexpr std::size_t kMember = 80;  // a node of a map with its key
  if (value.is_string()) return kValue + kBlock + value.get_ref<const std::string&>().size();
  if (!value.is_structured()) return kValue;
  std::size_t bytes = kValue + kBlock;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (value.is_object()) bytes += kMember + item.key().size();
    bytes += document_bytes(*item);
  }
  return bytes;
}

namespace {

// From the leaves up: a value without children is freed directly.
void free_children(Json& value) {
  if (!value.is_structured()) return;
  for (Json& child : value) {
    if (child.is_structured()) free_children(child);
  }
  value.clear();
}

}  // namespace

void discard(Json& value) {
  free_children(value);
  value = nullptr;
}

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_text(std::string& out, std::string_view text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
  if (!is_plain) {
    out += to_text(Json(text));
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void append_texts(std::string& out, const std::vector<std::string>& texts) {
  out += '[';
  const char* separator = "";
  for (const auto& text : texts) {
    out += std::exchange(separator, ",");
    append_text(out, text);
  }
  out += ']';
}

const Json* member(const Json& object, std::string_view key) {
  constexpr std::size_t kSmall = 16;
  const auto* members = object.get_ptr<const Json::object_t*>();
  if (members == nullptr) return nullptr;
  if (members->size() > kSmall) {
    const auto found = members->find(key);
    return found == members->end() ? nullptr : &found->second;
  }
  for (const auto& [name, value] : *members) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json* find(const Json& value, std::initializer_list<std::string_view> path) {
  const Json* at = &value;
  for (const auto step : path) {
    at = member(*at, step);
    if (at == nullptr) return nullptr;
  }
  return at->is_null() ? nullptr : at;
}

std::string string_at(const Json& value, std::initializer_list<std::string_view> path,
                      std::string_view otherwise) {
  const Json* at = find(value, path);
  return at != nullptr && at->is_string() ? at->get_ref<const std::string&>()
                                          : std::string(otherwise);
}

std::string_view text_at(const Json& value, std::initializer_list<std::string_view> path) {
  const Json* at = find(value, path);
  return at != nullptr && at->is_string() ? std::string_view(at->get_ref<const std::string&>())
                                          : std::string_view();
}

std::int64_t int_at(const Json& value, std::initializer_list<std::string_view> path,
                    std::int64_t otherwise) {
  const Json* at = find(value, path);
  if (at == nullptr || !at->is_number_integer()) return otherwise;
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (at->is_number_unsigned() && at->get<std::uint64_t>() > kMax) return otherwise;
  return at->get<std::int64_t>();
}

bool bool_at(const Json& value, std::initializer_list<std::string_view> path, bool otherwise) {
  const Json* at = find(value, path);
  return at != nullptr && at->is_boolean() ? at->get<bool>() : otherwise;
}

const Json& array_at(const Json& value, std::initializer_list<std::string_view> path) {
  static const Json kEmpty = Json::array();
  const Json* at = find(value, path);
  return at != nullptr && at->is_array() ? *at : kEmpty;
}

}  // namespace nervex::kube
