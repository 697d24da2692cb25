// server/http/request.h - what does a caller request? Bodies, queries and keys become values. Pure.
//
// Bodies are read like Go's encoding/json, which clients were written for: keys in any case,
// unknown keys ignored, null is absent. Exception: of two spellings of one key the exact one wins,
// not the last (server/http/request_body.h).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/http/messages.h"
#include "server/decide/change.h"
#include "server/decide/listing.h"

namespace nervex::server {

// Each fails with kInvalid, naming the field, for any error in `body`. At most `most` replicas of
// each role can be requested or named. Removals have no limit, because at most the existing
// replicas are removed.
Result<AddRequest> parse_add_request(std::string_view body, int most = kMaxReplicasPerRequest);
Result<RemoveRequest> parse_remove_request(std::string_view body);
Result<ReplaceRequest> parse_replace_request(std::string_view body,
                                             int most = kMaxReplicasPerRequest);

// The Idempotency-Key in these headers; "" without one. kInvalid: a key that cannot be stored.
Result<std::string> parse_key(const RequestHeaders& headers);

// The filter in a GET's query. kInvalid for unknown keys, empty values and meaningless
// combinations. An empty namespace means all.
Result<ListQuery> parse_list_query(const std::multimap<std::string, std::string>& query);

}  // namespace nervex::server
