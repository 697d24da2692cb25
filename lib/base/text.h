// base/text.h - how is a long text shortened? Never cut inside a UTF-8 character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nervex {

// At most `limit` bytes, as a part of `text`.
std::string_view first_bytes(std::string_view text, std::size_t limit);
// A program's last output tells most.
std::string_view last_bytes(std::string_view text, std::size_t limit);

// The first bytes and "...", together at most `limit` bytes. `limit` must be above 3.
std::string cut_text(std::string_view text, std::size_t limit);

// Splits a long text into at most `most` parts of at most `limit` bytes, broken at spaces with
// "..."; the last part is cut. `limit` must be above 6.
std::vector<std::string> wrap_text(std::string_view text, std::size_t limit, std::size_t most);

// FNV-1a, 64 bits: the same on every platform and in every version. Continues from `hash`.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

// Converts ASCII letters to lower case; the rest is unchanged.
std::string to_lower(std::string_view text);

// One or more digits and nothing else: 007, but not -1.
bool is_digits(std::string_view text);

// The known name closest to `name`, if close enough to be a typing mistake (inserted, missing,
// wrong or swapped letters, at most one in three, ignoring case); "" if none is. Of equally close
// names the first in `known`. Ignores names above 64 characters. Cost: known x length^2.
std::string closest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace nervex
