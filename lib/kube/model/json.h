// kube/model/json.h - how does JSON text become a value and back? The only user of nlohmann::json.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace nervex {

using Json = nlohmann::json;

namespace kube {

// Deeper documents are refused, because copying and writing a DOM recurse.
inline constexpr int kMaxJsonDepth = 1000;

// Members of that name in objects at this level below the document.
struct MembersAt {
  std::string_view key;
  int level = -1;
};

// kInvalid, with the position, on bad syntax, bad UTF-8 or too much depth. Of duplicate keys the
// last one wins, as in Go. The result may lack the `skipped` members. Never throws.
Result<Json> parse_json(std::string_view text, int max_depth = kMaxJsonDepth,
                        MembersAt skipped = {});

// kInvalid with the library's parse error, shortened.
Error not_json(const Json::exception& error);

// What makes a text large in memory, counted without parsing. For valid JSON never too low.
struct JsonCount {
  std::size_t values = 1;
  std::size_t members = 0;     // of objects: values that have a key
  std::size_t containers = 0;  // values that are objects or arrays
  std::size_t strings = 0;     // values that are texts
  bool operator==(const JsonCount&) const = default;
};
JsonCount count_json(std::string_view text);
// The same, but also counts structure inside strings: never too low, and usually not much too high.
// At a tenth of the cost.
JsonCount count_json_at_most(std::string_view text);

// Approximate memory of a document in bytes: at most a third off. Cost: linear in its values.
std::size_t document_bytes(const Json& value);

// Frees the content of `value` and sets it to null, at half the cost of the destructor, which first
// moves every value of the document into one list to be safe at any depth. For large documents of
// at most kMaxJsonDepth.
void discard(Json& value);

// Compact text. Bytes that are not UTF-8 are replaced, so this never throws.
std::string to_text(const Json& value);

// Appends `text` as a quoted JSON string, as to_text() writes it. For answers of a fixed form on
// hot paths: a tenth of the cost of a DOM.
void append_text(std::string& out, std::string_view text);
// The same for a list: ["a","b"].
void append_texts(std::string& out, const std::vector<std::string>& texts);

// The member of an object with that key; nullptr if absent or not an object. Faster than
// Json::find(): API objects are small, and most of their keys differ in length.
const Json* member(const Json& object, std::string_view key);

// The value at a path of object keys, or nullptr where a step is absent, null or not an object.
const Json* find(const Json& value, std::initializer_list<std::string_view> path);

// The value at `path` if present and of that type, else the default. An integer outside int64's
// range counts as absent.
std::string string_at(const Json& value, std::initializer_list<std::string_view> path,
                      std::string_view otherwise = "");
// The same without a copy: valid as long as `value` lives.
std::string_view text_at(const Json& value, std::initializer_list<std::string_view> path);
std::int64_t int_at(const Json& value, std::initializer_list<std::string_view> path,
                    std::int64_t otherwise = 0);
bool bool_at(const Json& value, std::initializer_list<std::string_view> path,
             bool otherwise = false);

// The array at `path`, or a static empty one: safe to iterate.
const Json& array_at(const Json& value, std::initializer_list<std::string_view> path);

}  // namespace kube
}  // namespace nervex
