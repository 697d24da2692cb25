// kube/model/quick_parse.h - JSON text as a value, if it is the usual kind: the first thing that
// parse_json() tries.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "kube/model/json.h"

namespace nervex::kube {

// Longer texts are left to nlohmann. Beside the value it takes so many bytes for each byte of text.
inline constexpr std::size_t kMaxQuickJson = std::size_t{1} << 20U;
inline constexpr std::size_t kQuickJsonBytes = 16;

// By simdjson, in half the time of nlohmann's own parser. nullopt: not JSON, nested deeper than
// `max_depth`, longer than kMaxQuickJson, or with something unusual about it: ask nlohmann. Without
// the `skipped` members.
std::optional<Json> quick_parse(std::string_view text, int max_depth, MembersAt skipped = {});

}  // namespace nervex::kube
