#include "controller/decide/round/condition.h"

#include <chrono>
#include <utility>
#include <vector>

#include "controller/decide/reasons.h"

namespace nervex::controller {

bool is_true(const job::Status& status, std::string_view type) {
  const auto* condition = find_condition(status, type);
  return condition != nullptr && condition->status;
}

bool is_false(const job::Status& status, std::string_view type) {
  const auto* condition = find_condition(status, type);
  return condition != nullptr && !condition->status;
}

void remove_condition(job::Status& status, std::string_view type) {
  std::erase_if(status.conditions,
                [type](const auto& condition) { return condition.type == type; });
}

void set_condition(const Observed& seen, job::Status& status, std::string_view type, bool is_true,
                   std::string_view reason, std::string message) {
  job::set_condition(status, {std::string(type), is_true, std::string(reason), std::move(message),
                              whole_seconds(seen.now), seen.job.meta.generation});
}

bool has_failed_creation(const job::Status& status) {
  const auto* condition = find_condition(status, kPodsCreated);
  return condition != nullptr && !condition->status && condition->reason == kFailedCreate;
}

SysTime whole_seconds(SysTime time) { return std::chrono::floor<std::chrono::seconds>(time); }

}  // namespace nervex::controller
