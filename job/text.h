// job/text.h - how is something long said in little capacity?
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace nervex::job {

// The last `limit` bytes at most, begun at a character of UTF-8: what programs say last tells most.
std::string last_bytes(std::string_view text, std::size_t limit);

// The first bytes and "...", `limit` bytes at most, cut between characters. `limit` is above 3.
std::string cut_text(std::string_view text, std::size_t limit);

// As kubectl shows durations: "75s", "2m30s", "45m", "5h10m", "3d4h". Negative ones as "0s".
std::string short_duration(std::chrono::seconds duration);

}  // namespace nervex::job
