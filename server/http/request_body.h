// server/http/request_body.h - which members of a request body does the API read? Pure.
#pragma once

#include <string_view>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::server {

// Longer texts are cut to this and one byte more, which is longer than any valid text.
inline constexpr std::size_t kMaxBodyText = 1024;

// Parses `body` as an object and keeps only the members that a request may have:
// "namespace", "coordinator", "collectors" and "learners", and within the last two, if they are
// objects, "replicas", "cpus", "gpus" and "memory". Keys match in any case and are stored in lower
// case. Of several spellings of one key the exact one wins, else the last that is not null. A list
// longer than `max_items` keeps one item more. A nested value where none is allowed becomes an
// empty one of its type.
//
// kInvalid: not a JSON object, or nested deeper than kube::kMaxJsonDepth. For any body the result
// is small, and parsing needs up to five times its length; a full document would need 70 times.
Result<Json> parse_request_body(std::string_view body, int max_items);

}  // namespace nervex::server
