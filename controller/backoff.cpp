#include "controller/backoff.h"

#include <algorithm>

namespace nervex::controller {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes kLongestDelay{6};
constexpr int kMostDoublings = 20;  // more than enough, and no overflow

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

milliseconds retry_delay(milliseconds first, int failed_attempts) {
  const int doublings = std::clamp(failed_attempts - 1, 0, kMostDoublings);
  return at_most_longest(first * (1 << doublings));
}

milliseconds at_most_longest(milliseconds delay) {
  return std::min<milliseconds>(delay, kLongestDelay);
}

}  // namespace nervex::controller
