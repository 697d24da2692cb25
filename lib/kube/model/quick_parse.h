// kube/model/quick_parse.h - how is ordinary JSON parsed fast? parse_json() tries this first.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "kube/model/json.h"

namespace nervex::kube {

// Longer texts are left to nlohmann: beside the value, each byte of text takes this many bytes.
inline constexpr std::size_t kMaxQuickJson = std::size_t{1} << 20U;
inline constexpr std::size_t kQuickJsonBytes = 16;

// Parses with simdjson, in half the time of nlohmann's parser. nullopt: not JSON, nested deeper
// than `max_depth`, longer than kMaxQuickJson, or unusual: use nlohmann. Omits the `skipped`
// members.
std::optional<Json> quick_parse(std::string_view text, int max_depth, MembersAt skipped = {});

}  // namespace nervex::kube
