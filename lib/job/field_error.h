// job/field_error.h - what is wrong with a field, and how is it worded for the user?
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kube/model/json.h"

namespace nervex::job {

// The vocabulary of Kubernetes field errors. kUnknownField is worded like kForbidden; a newer
// schema may know the field.
enum class FieldErrorType {
  kRequired,
  kInvalid,
  kNotSupported,
  kForbidden,
  kUnknownField,
  kTooLong,
  kTooMany,
  kDuplicate,
  kNotFound
};

struct FieldError {
  FieldErrorType type = FieldErrorType::kInvalid;
  std::string field;   // spec.coordinator.template.spec.containers[0].image
  std::string value;   // the value as JSON, cut at 100 characters; empty if required
  std::string detail;  // what is allowed
  // The whole message as another program, such as the API server, wrote it; empty: made from the
  // fields above.
  std::string words{};
  bool operator==(const FieldError&) const = default;
};
using FieldErrors = std::vector<FieldError>;
void append(FieldErrors& errors, FieldErrors more);
// Appends errors of fields that `errors` does not name, so that each field is reported once.
void append_unreported(FieldErrors& errors, FieldErrors more);

// `spec.cleanPodPolicy: Unsupported value: "hello": ...`, as the API server words it.
std::string to_string(const FieldError& error);
// The same without the field: `Unsupported value: "hello": ...`.
std::string field_error_message(const FieldError& error);
// metav1.CauseType of the type: "FieldValueRequired", "FieldValueInvalid", ...
std::string_view cause_type(FieldErrorType type);
// "<n> fields are wrong: a; b; c" or the one error alone. Names at most kMaxListedErrors of them.
std::string to_string(const FieldErrors& errors);
inline constexpr std::size_t kMaxListedErrors = 30;
// Checks stop after this many errors, so that a hostile job cannot fill the memory.
inline constexpr std::size_t kMaxErrors = 1000;

// `value` in the form of FieldError::value.
std::string shown_value(const Json& value);

}  // namespace nervex::job
