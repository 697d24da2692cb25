// kube/model/quantity.h - what amount is "500m", "2Gi" or "1e3"?
//
// Grammar of k8s.io/apimachinery/pkg/api/resource (v0.36): sign, decimal number, then one of n u m
// "" k M G T P E, Ki Mi Gi Ti Pi Ei, or a decimal exponent; surrounding spaces are ignored. Exact
// integers, no doubles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nervex::kube {

enum class Scale { kOne, kMilli };

// The amount in units of `scale`, rounded away from zero like the scheduler ("1500m" at kOne is 2).
// Amounts beyond int64, such as 10Ei, become its maximum, because the API server accepts them.
// kInvalid: not a quantity.
Result<std::int64_t> parse_quantity(std::string_view text, Scale scale);

// True if the amount is a whole number, as extended resources (nvidia.com/gpu) require. False if
// `text` is not a valid quantity.
bool is_whole(std::string_view text);

// "64", "500m"; bytes as "16Gi" if exact. For messages and requests.
std::string format_quantity(std::int64_t amount, Scale scale);
std::string format_bytes(std::int64_t bytes);

}  // namespace nervex::kube
