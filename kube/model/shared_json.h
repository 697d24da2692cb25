// kube/model/shared_json.h - a JSON value that many copies of an object have in common.
#pragma once

#include <concepts>
#include <ostream>
#include <string_view>
#include <utility>

#include "kube/model/json.h"
#include "kube/model/shared.h"

namespace nervex::kube {

// Reads as a const Json&; a copy costs a counter, whatever its size. Change it by operator[] or
// edit(): who does so gets a value of its own first. Copies may live in different threads.
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
