// job/text.h - which part of a text fits where there is room for so much?
#pragma once

#include <string>
#include <string_view>

namespace nervex::job {

// The last `limit` bytes at most, begun at a character of UTF-8: what programs say last tells most.
std::string last_bytes(std::string_view text, std::size_t limit);

}  // namespace nervex::job
