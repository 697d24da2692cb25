#include "controller/refusal.h"

#include <cctype>

#include "controller/conditions.h"
#include "controller/reasons.h"

namespace nervex::controller {
namespace {

// "used: pods=10" and "used: pods=11" are the same refusal.
std::string without_numbers(std::string_view text) {
  std::string kept;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) kept += c;
  }
  return kept;
}

bool says_so(const job::Status& status, const std::string& message) {
  const auto* condition = find_condition(status, kPodsCreated);
  return condition != nullptr && !condition->status &&
         without_numbers(condition->message) == without_numbers(message);
}

}  // namespace

Actions report_refusal(const job::Job& job, std::string_view reason, const std::string& message,
                       SysTime now) {
  if (job.meta.deleting || is_final(job.status.phase) || says_so(job.status, message)) return {};
  job::Status status = job.status;
  job::set_condition(status, {std::string(kPodsCreated), false, std::string(reason), message,
                              whole_seconds(now), job.meta.generation});
  if (!is_true(status, kSuspended)) status.reason = reason;
  return {UpdateStatus{std::move(status)}, warning_event(reason, message)};
}

bool is_definite(Code code) { return code == Code::kInvalid || code == Code::kForbidden; }

bool is_worth_telling(Code code, int failures_before) {
  switch (code) {
    case Code::kInvalid:
    case Code::kForbidden:
      return true;
    case Code::kConflict:
    case Code::kExpired:
      return failures_before >= 6;
    case Code::kNotFound:
    case Code::kTransient:
    case Code::kUnauthorized:
    case Code::kInternal:
      return failures_before >= 1;
  }
  return false;
}

}  // namespace nervex::controller
