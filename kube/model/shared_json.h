// kube/model/shared_json.h - how do many copies of an object share one JSON value?
#pragma once

#include <concepts>
#include <ostream>
#include <string_view>
#include <utility>

#include "kube/model/json.h"
#include "kube/model/shared.h"

namespace nervex::kube {

// Reads as a const Json&; a copy of any size costs one counter. To change it use operator[] or
// edit(), which first give this copy its own value. Copies may live in different threads.
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
    return value_ ? *value_ : kNull;
  }
  operator const Json&() const { return get(); }  // NOLINT: implicit
  bool is_null() const { return get().is_null(); }
  bool is_object() const { return get().is_object(); }

  Json& edit() { return value_.edit(); }
  Json& operator[](const char* key) { return edit()[key]; }

  friend bool operator==(const SharedJson& a, const SharedJson& b) {
    return &a.get() == &b.get() || a.get() == b.get();
  }
  friend std::ostream& operator<<(std::ostream& out, const SharedJson& json) {
    return out << to_text(json.get());
  }

 private:
  Shared<Json> value_;
};

}  // namespace nervex::kube
