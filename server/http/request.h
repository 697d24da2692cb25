// server/http/request.h - what does a caller ask for? Bodies, queries and keys become values. Pure.
//
// Bodies are read as Go's encoding/json reads them, since that is what clients were written
// against: keys in any case, unknown keys ignored, null is absent. Unlike there, of two spellings
// of one key the exact one wins, not the last (server/http/request_body.h).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/http/messages.h"
#include "server/decide/change.h"
#include "server/decide/listing.h"

namespace nervex::server {

// Each fails with kInvalid, naming the field, for everything that is wrong with `body`. At most
// `most` replicas of each role can be asked for or named; as many as one likes can be removed,
// since there is no more to remove than there is.
Result<AddRequest> parse_add_request(std::string_view body, int most = kMaxReplicasPerRequest);
Result<RemoveRequest> parse_remove_request(std::string_view body);
Result<ReplaceRequest> parse_replace_request(std::string_view body,
                                             int most = kMaxReplicasPerRequest);

// The Idempotency-Key among these headers; "" without one. kInvalid: one that cannot be kept.
Result<std::string> parse_key(const RequestHeaders& headers);

// What the query of a GET selects. kInvalid for unknown keys, empty values and combinations without
// meaning. An empty namespace stands for all of them.
Result<ListQuery> parse_list_query(const std::multimap<std::string, std::string>& query);

}  // namespace nervex::server
