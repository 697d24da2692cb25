#include "job/field_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "base/text.h"

namespace nervex::job {
namespace {

constexpr std::size_t kMaxShown = 100;

std::string with_detail(std::string text, const std::string& detail) {
  return detail.empty() ? text : fmt::format("{}: {}", std::move(text), detail);
}

// k8s.io/apimachinery/pkg/util/validation/field (v0.36), Error.ErrorBody.
std::string error_body(const FieldError& error) {
  switch (error.type) {
    case FieldErrorType::kRequired:
      return "Required value";
    case FieldErrorType::kInvalid:
      return "Invalid value: " + error.value;
    case FieldErrorType::kNotSupported:
      return "Unsupported value: " + error.value;
    case FieldErrorType::kForbidden:
    case FieldErrorType::kUnknownField:
      return "Forbidden";
    case FieldErrorType::kTooLong:
      return "Too long";
    case FieldErrorType::kTooMany:
      return "Too many: " + error.value;
    case FieldErrorType::kDuplicate:
      return "Duplicate value: " + error.value;
    case FieldErrorType::kNotFound:
      return "Not found: " + error.value;
  }
  return "Invalid value";
}

}  // namespace

void append(FieldErrors& errors, FieldErrors more) {
  std::move(more.begin(), more.end(), std::back_inserter(errors));
}

void append_unreported(FieldErrors& errors, FieldErrors more) {
  std::set<std::string, std::less<>> reported;
  for (const auto& error : errors) reported.insert(error.field);
  for (auto& error : more) {
    if (!reported.contains(error.field)) errors.push_back(std::move(error));
  }
}

std::string field_error_message(const FieldError& error) {
  return error.words.empty() ? with_detail(error_body(error), error.detail) : error.words;
}

std::string to_string(const FieldError& error) {
  return fmt::format("{}: {}", error.field, field_error_message(error));
}

// k8s.io/apimachinery/pkg/apis/meta/v1 (v0.36), CauseType.
std::string_view cause_type(FieldErrorType type) {
  switch (type) {
    case FieldErrorType::kRequired:
      return "FieldValueRequired";
    case FieldErrorType::kInvalid:
      return "FieldValueInvalid";
    case FieldErrorType::kNotSupported:
      return "FieldValueNotSupported";
    case FieldErrorType::kForbidden:
    case FieldErrorType::kUnknownField:
      return "FieldValueForbidden";
    case FieldErrorType::kTooLong:
      return "FieldValueTooLong";
    case FieldErrorType::kTooMany:
      return "FieldValueTooMany";
    case FieldErrorType::kDuplicate:
      return "FieldValueDuplicate";
    case FieldErrorType::kNotFound:
      return "FieldValueNotFound";
  }
  return "FieldValueInvalid";
}

std::string to_string(const FieldErrors& errors) {
  if (errors.size() == 1) return to_string(errors.front());
  std::string text = fmt::format("{} fields are wrong: ", errors.size());
  const std::size_t listed = std::min(errors.size(), kMaxListedErrors);
  for (std::size_t i = 0; i < listed; ++i) {
    if (i > 0) text += "; ";
    text += to_string(errors[i]);
  }
  if (listed < errors.size()) text += fmt::format("; and {} more", errors.size() - listed);
  return text;
}

std::string shown_value(const Json& value) {
  // Does not print a large value only to cut it: the text may be untrusted.
  if (value.is_object()) return value.empty() ? "{}" : "{...}";
  if (value.is_array()) return value.empty() ? "[]" : "[...]";
  if (!value.is_string()) return kube::to_text(value);
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() <= kMaxShown) return kube::to_text(value);
  return kube::to_text(Json(cut_text(text, kMaxShown)));
}

}  // namespace nervex::job
