// controller/backoff.h - may a failed attempt be followed by another, and when?
#pragma once

#include <chrono>
#include <optional>

#include "job/types.h"

namespace nervex::controller {

// Attempts that may fail before the job does; nullopt: any number. As batch/v1 Job has it, but for
// the default: 0 if the coordinator's restartPolicy is Never or unset, else unlimited.
std::optional<int> backoff_limit(const job::Spec& spec);

// True if after `failed_attempts` failures (this one counted) another attempt may follow.
bool may_retry(const job::Spec& spec, int failed_attempts);

// From the n-th failure to the next attempt: `first`, doubling, at most 6 min.
std::chrono::milliseconds retry_delay(std::chrono::milliseconds first, int failed_attempts);

// No back-off is longer: 6 min.
std::chrono::milliseconds at_most_longest(std::chrono::milliseconds delay);

}  // namespace nervex::controller
