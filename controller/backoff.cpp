#include "controller/backoff.h"

#include <algorithm>

namespace nervex::controller {
namespace {

using std::chrono::seconds;

constexpr seconds kFirstDelay{10};
constexpr seconds kLongestDelay{360};

}  // namespace

std::optional<int> backoff_limit(const job::Spec& spec) {
  if (spec.backoff_limit) return spec.backoff_limit;
  const std::string policy = kube::string_at(spec.coordinator_template, {"spec", "restartPolicy"});
  if (policy.empty() || policy == "Never") return 0;
  return std::nullopt;
}

bool may_retry(const job::Spec& spec, int failed_attempts) {
  const auto limit = backoff_limit(spec);
  return !limit || failed_attempts <= *limit;
}

seconds retry_delay(int failed_attempts) {
  const int doublings = std::clamp(failed_attempts - 1, 0, 6);
  return std::min(kFirstDelay * (1 << doublings), kLongestDelay);
}

}  // namespace nervex::controller
