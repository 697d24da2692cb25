// webhook/did_you_mean.h - which known name did somebody who wrote this one have in mind?
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nervex::webhook {

// The known name closest to `name`, if close enough to be a slip of the pen (inserted, left out,
// wrong or swapped letters, one in three at most, upper and lower case aside); "" if none is. Of
// equally close ones the first in `known`. Cost: known x length^2; names over 64 bytes have no
// neighbour.
std::string did_you_mean(std::string_view name, std::span<const std::string> known);

}  // namespace nervex::webhook
