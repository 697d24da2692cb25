// kube/model/quantity.h - what amount does "500m", "2Gi" or "1e3" stand for?
//
// Grammar of k8s.io/apimachinery/pkg/api/resource (v0.36): sign, decimal number, then one of
// n u m "" k M G T P E, Ki Mi Gi Ti Pi Ei, or a decimal exponent; spaces around it do not count.
// Exact integers, no doubles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nervex::kube {

enum class Scale { kOne, kMilli };

// The amount in units of `scale`, rounded up away from zero as the scheduler does
// ("1500m" at kOne is 2). What is beyond int64, such as 10Ei, is the most that it holds: the API
// server takes it. kInvalid: not a quantity.
Result<std::int64_t> parse_quantity(std::string_view text, Scale scale);

// True if the amount is a whole number: what extended resources (nvidia.com/gpu) demand. `text`
// must be a valid quantity, else false.
bool is_whole(std::string_view text);

// "64", "500m"; bytes as "16Gi" where that is exact. For messages and for requests.
std::string format_quantity(std::int64_t amount, Scale scale);
std::string format_bytes(std::int64_t bytes);

}  // namespace nervex::kube
