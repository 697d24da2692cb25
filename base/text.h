// base/text.h - how is a long text said in few bytes? Never cut within a character of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nervex {

// At most `limit` bytes. Parts of `text`.
std::string_view first_bytes(std::string_view text, std::size_t limit);
// What programs say last tells most.
std::string_view last_bytes(std::string_view text, std::size_t limit);

// The first bytes and "...", `limit` bytes at most with them. `limit` is above 3.
std::string cut_text(std::string_view text, std::size_t limit);

// A long text as several: each has `limit` bytes at most, ends and goes on at a space with "...",
// and there are `most` at most; the last one is cut. `limit` is above 6.
std::vector<std::string> wrap_text(std::string_view text, std::size_t limit, std::size_t most);

// FNV-1a, 64 bits: the same on every platform and in every version. Goes on from `hash`.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

// ASCII letters in lower case; the rest as it is.
std::string to_lower(std::string_view text);

// At least one, and nothing else: 007, but not -1.
bool is_digits(std::string_view text);

// The known name closest to `name`, if close enough to be a typing mistake (inserted, left out,
// wrong or swapped letters, one in three at most, upper and lower case aside); "" if none is. Of
// equally close ones the first in `known`. Names above 64 characters are not looked at. Cost: known
// x length^2.
std::string closest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace nervex
