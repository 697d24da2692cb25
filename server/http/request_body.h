// server/http/request_body.h - which members of a request's body does the API read? Pure.
#pragma once

#include <string_view>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::server {

// Longer texts are kept as their first bytes, one more than this: longer than anything valid.
inline constexpr std::size_t kMaxBodyText = 1024;

// The object that `body` is, with the members that a request may have and nothing else:
// "namespace", "coordinator", "collectors" and "learners", and of the last two, if they are
// objects, "replicas", "cpus", "gpus" and "memory". Keys match in any case and are kept in lower
// case. Of several spellings of one key the exact one wins, else the last that is not null. Of a
// list that is longer than `max_items` one item more is kept. A value that is nested where none
// may be is kept as an empty one of its type.
//
// kInvalid: no JSON object, or nested deeper than kube::kMaxJsonDepth. Whatever the body holds, the
// result is small, and parsing takes up to five times its length: a document of it would take 70.
Result<Json> parse_request_body(std::string_view body, int max_items);

}  // namespace nervex::server
