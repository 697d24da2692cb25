#include "job/template/place.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace nervex::job::pod_template {
namespace {

const Json& absent() {
  static const Json kNull;
  return kNull;
}

const Json& member_or_absent(const Json& value, std::string_view key) {
  const Json* found = kube::member(value, key);
  return found == nullptr ? absent() : *found;
}

}  // namespace

Place Place::at(std::string_view key) const& {
  return {member_or_absent(value_, key), *this, Step::kMember, key, 0};
}

Place Place::entry(std::string_view key) const& {
  return {member_or_absent(value_, key), *this, Step::kEntry, key, 0};
}

Place Place::item(std::size_t index) const& {
  return {index < size() ? value_[index] : absent(), *this, Step::kItem, {}, index};
}

const std::string& Place::text() const {
  static const std::string kEmpty;
  return value_.is_string() ? value_.get_ref<const std::string&>() : kEmpty;
}

std::optional<std::int64_t> Place::integer() const {
  if (!value_.is_number_integer()) return std::nullopt;
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  if (value_.is_number_unsigned() && value_.get<std::uint64_t>() > std::uint64_t{kMax}) return kMax;
  return value_.get<std::int64_t>();
}

void Place::append_path(std::string& path) const {
  if (parent_ != nullptr) parent_->append_path(path);
  switch (step_) {
    case Step::kRoot:
      path += name_;
      break;
    case Step::kMember:
      if (!path.empty()) path += '.';
      path += name_;
      break;
    case Step::kEntry:
      path += fmt::format("[{}]", name_);
      break;
    case Step::kItem:
      path += fmt::format("[{}]", index_);
      break;
  }
}

std::string Place::path() const {
  std::string path;
  append_path(path);
  return path;
}

void Place::required(std::string detail) const {
  errors_.push_back({FieldErrorType::kRequired, path(), "", std::move(detail)});
}

void Place::invalid(std::string detail) const {
  errors_.push_back({FieldErrorType::kInvalid, path(), shown_value(value_), std::move(detail)});
}

void Place::invalid(const Json& shown, std::string detail) const {
  errors_.push_back({FieldErrorType::kInvalid, path(), shown_value(shown), std::move(detail)});
}

void Place::forbidden(std::string detail) const {
  errors_.push_back({FieldErrorType::kForbidden, path(), "", std::move(detail)});
}

void Place::forbidden(const Json& shown, std::string detail) const {
  errors_.push_back({FieldErrorType::kForbidden, path(), kube::to_text(shown), std::move(detail)});
}

void Place::duplicate() const {
  errors_.push_back({FieldErrorType::kDuplicate, path(), shown_value(value_), ""});
}

void Place::duplicate(std::string_view shown, std::string detail) const {
  errors_.push_back(
      {FieldErrorType::kDuplicate, path(), shown_value(Json(shown)), std::move(detail)});
}

void Place::too_long(std::size_t limit) const {
  errors_.push_back(
      {FieldErrorType::kTooLong, path(), "", fmt::format("may not be more than {} bytes", limit)});
}

void Place::too_many(std::size_t limit) const {
  errors_.push_back({FieldErrorType::kTooMany, path(), std::to_string(size()),
                     fmt::format("must have at most {} items", limit)});
}

void Place::not_found(std::string detail) const { not_found(value_, std::move(detail)); }

void Place::not_found(const Json& shown, std::string detail) const {
  errors_.push_back({FieldErrorType::kNotFound, path(), shown_value(shown), std::move(detail)});
}

void Place::not_supported(std::initializer_list<std::string_view> supported) const {
  not_supported(value_, supported);
}

void Place::not_supported(const Json& shown, std::initializer_list<std::string_view> supported,
                          std::string_view why) const {
  std::string detail = "supported values: ";
  for (const auto value : supported) {
    if (value != *supported.begin()) detail += ", ";
    detail += fmt::format("\"{}\"", value);
  }
  if (!why.empty()) detail += fmt::format(": {}", why);
  errors_.push_back({FieldErrorType::kNotSupported, path(), shown_value(shown), std::move(detail)});
}

bool Place::has_text() const {
  if (is_there() && !(value_.is_string() && text().empty())) return value_.is_string();
  required();
  return false;
}

void Place::must_be(std::string_view problem) const {
  if (!problem.empty()) invalid(std::string(problem));
}

void Place::one_of(std::initializer_list<std::string_view> supported) const {
  if (!text().empty()) exactly_one_of(supported);
}

void Place::exactly_one_of(std::initializer_list<std::string_view> supported) const {
  const bool is_one = std::find(supported.begin(), supported.end(), text()) != supported.end();
  if (value_.is_string() && !is_one) not_supported(supported);
}

void Place::surely_one_of(std::initializer_list<std::string_view> supported) const {
  if (!is_there()) return not_supported("", supported);
  exactly_one_of(supported);
}

void Place::in_range(std::int64_t min, std::int64_t max) const {
  const auto number = integer();
  if (!number || (*number >= min && *number <= max)) return;
  invalid(fmt::format("must be between {} and {}, inclusive", min, max));
}

void Place::not_negative() const {
  const auto number = integer();
  if (number && *number < 0) invalid("must be greater than or equal to 0");
}

}  // namespace nervex::job::pod_template
