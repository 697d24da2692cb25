// job/template/place.h - one value of a pod template: what is its path, and what is wrong with it?
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "job/field_error.h"
#include "kube/model/json.h"

namespace nervex::job::pod_template {

// A value that may be absent, with its path, and the errors that checks report for it. Paths are
// built only for errors. A place borrows its parent, so parents are named variables.
class Place {
 public:
  // The value at `path` of the job; "" is the job itself. `errors` is borrowed.
  Place(const Json& value, std::string_view path, FieldErrors& errors)
      : value_(value), name_(path), errors_(errors) {}
  // The same value as a direct child of `parent`.
  Place(const Json& value, std::string_view key, const Place& parent)
      : Place(value, parent, Step::kMember, key, 0) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // The member of an object: ".key" in the path. May be absent.
  Place at(std::string_view key) const&;
  // The same with "[key]" in the path: for user-chosen keys such as labels and resources.
  Place entry(std::string_view key) const&;
  // The item of a list: "[index]".
  Place item(std::size_t index) const&;
  Place at(std::string_view key) const&& = delete;
  Place entry(std::string_view key) const&& = delete;
  Place item(std::size_t index) const&& = delete;

  // check(Place) for each item of a list, check(key, Place) for each member of an object. No calls
  // for another type. Both stop when there are too many errors.
  template <typename Check>
  void each_item(Check check) const {
    if (!value_.is_array()) return;
    for (std::size_t i = 0; i < value_.size() && !is_full(); ++i) check(item(i));
  }
  template <typename Check>
  void each_entry(Check check) const {
    if (!value_.is_object()) return;
    for (auto at = value_.begin(); at != value_.end() && !is_full(); ++at) {
      check(at.key(), Place(*at, *this, Step::kEntry, at.key(), 0));
    }
  }

  const Json& value() const { return value_; }
  bool is_there() const { return !value_.is_null(); }
  bool is_object() const { return value_.is_object(); }
  // Size of a list, else 0.
  std::size_t size() const { return value_.is_array() ? value_.size() : 0; }
  // "" if it is not a string.
  const std::string& text() const;
  bool is_true() const { return value_ == Json(true); }
  bool is_false() const { return value_ == Json(false); }
  std::optional<std::int64_t> integer() const;

  std::string path() const;
  bool is_full() const { return errors_.size() >= kMaxErrors; }

  void required(std::string detail = "") const;
  void invalid(std::string detail) const;
  // `shown` is the wrong part of this value: a key, or a default.
  void invalid(const Json& shown, std::string detail) const;
  void forbidden(std::string detail) const;
  // `shown` is not displayed; it distinguishes this error from others at the same place.
  void forbidden(const Json& shown, std::string detail) const;
  void duplicate() const;
  void duplicate(std::string_view shown, std::string detail = "") const;
  void too_long(std::size_t limit) const;
  void too_many(std::size_t limit) const;
  void not_found(std::string detail) const;
  void not_found(const Json& shown, std::string detail) const;
  void not_supported(std::initializer_list<std::string_view> supported) const;
  void not_supported(const Json& shown, std::initializer_list<std::string_view> supported,
                     std::string_view why = "") const;

  // ---- checks that most fields share

  // Reports `required` unless there is a non-empty text.
  bool has_text() const;
  // Reports `problem` (job/template/syntax.h) as invalid, if there is one.
  void must_be(std::string_view problem) const;
  // If present and not empty, the value must be one of these.
  void one_of(std::initializer_list<std::string_view> supported) const;
  // The same where empty differs from absent.
  void exactly_one_of(std::initializer_list<std::string_view> supported) const;
  // The same where both absent and empty are wrong.
  void surely_one_of(std::initializer_list<std::string_view> supported) const;
  void in_range(std::int64_t min, std::int64_t max) const;
  void not_negative() const;

 private:
  enum class Step { kRoot, kMember, kEntry, kItem };
  Place(const Json& value, const Place& parent, Step step, std::string_view name, std::size_t index)
      : value_(value),
        parent_(&parent),
        step_(step),
        name_(name),
        index_(index),
        errors_(parent.errors_) {}
  void append_path(std::string& path) const;

  const Json& value_;
  const Place* parent_ = nullptr;
  Step step_ = Step::kRoot;
  std::string_view name_;
  std::size_t index_ = 0;
  FieldErrors& errors_;
};

}  // namespace nervex::job::pod_template
