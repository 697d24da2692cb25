// kube/model/shared_json.h - how do many copies of an object share one JSON value?
#pragma once

#include <concepts>
#include <cstddef>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kube/model/json.h"
#include "kube/model/shared.h"

namespace nervex::kube {

// Reads as a const Json&; a copy of any size costs one counter. To change it use operator[] or
// edit(), which first give this copy its own value. Copies may live in different threads.
//
// A value is several times as large as its text, a hostile one thirty times. So caches keep it
// packed, as compact text: only is_null(), is_object(), is_packed() and comparing with another
// packed one are allowed then; the others throw std::logic_error.
class SharedJson {
 public:
  SharedJson() = default;
  template <typename T>
  requires(!std::same_as<std::remove_cvref_t<T>, SharedJson> && std::constructible_from<Json, T>)
      SharedJson(T&& value)  // NOLINT: implicit
      : value_(Json(std::forward<T>(value))) {}
  SharedJson(Json::initializer_list_t items) : value_(Json(std::move(items))) {}  // NOLINT

  const Json& get() const {
    static const Json kNull;
    check_unpacked();
    return value_ ? *value_ : kNull;
  }
  operator const Json&() const { return get(); }  // NOLINT: implicit
  bool is_null() const { return !is_packed() && get().is_null(); }
  bool is_object() const { return is_packed() ? text_->starts_with('{') : get().is_object(); }

  Json& edit() {
    check_unpacked();
    return value_.edit();
  }
  Json& operator[](const char* key) { return edit()[key]; }

  // Keeps the text instead of the value, and back. No effect if it is so already, or null.
  void pack();
  void unpack();
  bool is_packed() const { return static_cast<bool>(text_); }
  // Bytes of the text; 0: not packed.
  std::size_t packed_bytes() const { return text_ ? text_->size() : 0; }

  friend bool operator==(const SharedJson& a, const SharedJson& b) {
    if (a.is_packed() && b.is_packed()) return a.text_ == b.text_;
    return &a.get() == &b.get() || a.get() == b.get();
  }
  friend std::ostream& operator<<(std::ostream& out, const SharedJson& json) {
    return out << to_text(json.get());
  }

 private:
  void check_unpacked() const {
    if (is_packed()) throw std::logic_error("a packed JSON value is read");
  }

  Shared<Json> value_;
  Shared<std::string> text_;  // packed; then there is no value_
};

}  // namespace nervex::kube
