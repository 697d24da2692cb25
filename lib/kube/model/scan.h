// kube/model/scan.h - how is JSON read in one pass, without a DOM? The only user of simdjson.
//
// Private to kube/model. A scan walks the document once, in document order: a callback must read
// its Value at once or ignore it, never keep it. A value of another type counts as absent, as null
// does; broken JSON throws, and scan() catches it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/error.h"

namespace nervex::kube {

using Value = simdjson::ondemand::value;

// True if the value was read; false if it has another type. Throws on broken JSON.
inline bool got(simdjson::error_code error) {
  if (error == simdjson::SUCCESS) return true;
  if (error == simdjson::INCORRECT_TYPE) return false;
  throw simdjson::simdjson_error(error);
}

// Calls `on_field(std::string_view key, Value value)` for each field of an object.
template <typename F>
void each_field(Value value, F on_field) {
  simdjson::ondemand::object object;
  if (!got(value.get_object().get(object))) return;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    on_field(key, field.value().value());
  }
}

// Calls `on_item(Value item)` for each item of an array.
template <typename F>
void each_item(Value value, F on_item) {
  simdjson::ondemand::array array;
  if (!got(value.get_array().get(array))) return;
  for (auto item : array) on_item(item.value());
}

// Valid until the scan ends.
inline std::string_view scan_text(Value value) {
  std::string_view text;
  return got(value.get_string().get(text)) ? text : std::string_view();
}

inline std::string scan_string(Value value) { return std::string(scan_text(value)); }

inline bool is_true(Value value) {
  bool flag = false;
  return got(value.get_bool().get(flag)) && flag;
}

// Also zero for numbers beyond int64 and for fractions.
inline std::int64_t scan_int(Value value) {
  std::int64_t number = 0;
  const simdjson::error_code error = value.get_int64().get(number);
  if (error == simdjson::NUMBER_ERROR || error == simdjson::NUMBER_OUT_OF_RANGE) return 0;
  return got(error) ? number : 0;
}

// The text of an object or array, as part of the scanner's own copy; see Scanned::original().
inline std::string_view scan_raw(Value value) {
  simdjson::ondemand::object object;
  if (got(value.get_object().get(object))) return object.raw_json();
  simdjson::ondemand::array array;
  if (got(value.get_array().get(array))) return array.raw_json();
  return {};
}

// Buffers of a scan: simdjson needs readable bytes behind the text, hence a copy. Each thread keeps
// one for its next scan, because allocating it costs more than scanning a pod.
class ScanRoom {
 public:
  static std::unique_ptr<ScanRoom> take() {
    if (auto& kept = spare()) return std::move(kept);
    return std::make_unique<ScanRoom>();
  }
  // Buffers as large as a full list page are not worth keeping.
  static void give_back(std::unique_ptr<ScanRoom> capacity) {
    if (capacity->capacity_ <= kMostKept) spare() = std::move(capacity);
  }

  simdjson::padded_string_view copy(std::string_view text) {
    if (const std::size_t need = text.size() + simdjson::SIMDJSON_PADDING; need > capacity_) {
      capacity_ = std::max(need, std::min(2 * need, kMostKept));
      bytes_ = std::make_unique_for_overwrite<char[]>(capacity_);
    }
    std::copy(text.begin(), text.end(), bytes_.get());
    // simdjson reads them if a text is truncated: an old brace there would close this text.
    std::fill_n(bytes_.get() + text.size(), simdjson::SIMDJSON_PADDING, '\0');
    return simdjson::padded_string_view(bytes_.get(), text.size(), capacity_);
  }
  simdjson::ondemand::parser& parser() { return parser_; }

 private:
  // 200 kB together with the parser's own buffers.
  static constexpr std::size_t kMostKept = std::size_t{32} * 1024;
  static std::unique_ptr<ScanRoom>& spare() {
    thread_local std::unique_ptr<ScanRoom> kept;
    return kept;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  simdjson::ondemand::parser parser_;
};

// A document being scanned.
class Scanned {
 public:
  explicit Scanned(std::string_view text)
      : text_(text), padded_(room_->copy(text)), document_(room_->parser().iterate(padded_)) {}
  ~Scanned() { ScanRoom::give_back(std::move(room_)); }
  Scanned(const Scanned&) = delete;
  Scanned& operator=(const Scanned&) = delete;

  Value root() { return document_.get_value(); }
  // Restarts at the front; all values read before become invalid.
  void rewind() { document_.rewind(); }
  // The same bytes in the caller's text.
  std::string_view original(std::string_view part) const {
    if (part.empty()) return {};
    while (!part.empty() && part.back() != '}' && part.back() != ']') part.remove_suffix(1);
    return text_.substr(static_cast<std::size_t>(part.data() - padded_.data()), part.size());
  }

 private:
  std::unique_ptr<ScanRoom> room_ = ScanRoom::take();
  std::string_view text_;
  simdjson::padded_string_view padded_;
  simdjson::ondemand::document document_;
};

// Calls `read(scanned)` on a scan of `text`; kInvalid with `what` if it is not JSON.
template <typename T, typename F>
Result<T> scan(std::string_view what, std::string_view text, F read) {
  try {
    Scanned scanned(text);
    return read(scanned);
  } catch (const simdjson::simdjson_error& e) {
    return Error{Code::kInvalid, fmt::format("{}: not readable as JSON: {}", what, e.what())};
  }
}

}  // namespace nervex::kube
