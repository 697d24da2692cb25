// server/http/envelope.h - what does every answer of the replicas API look like? Pure.
//
// {"success":true,"code":0,"message":"...","data":...}, fields in this order
// (docs/reference/replicas-api.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/http/messages.h"
#include "server/decide/listing.h"

namespace nervex::server {

// 200 with the listing, or all of them as an array, as data. Empty lists are [], never null.
HttpReply success(std::string_view message, const Listing& data);
HttpReply success(std::string_view message, const std::vector<Listing>& data);

// success:false. The status follows the code, since clients act on it:
//   kInvalid 400 (its body or query), kNotFound 404, kConflict 409 (its job cannot be changed so),
//   kForbidden 403 (it may not): final for the caller;
//   kTransient, and everything else that is not the caller's doing: 200, the one answer that
//   clients repeat. Any other status ends a client's communication for good.
// Without the paths of requests that this program made of the API server: they tell of the
// cluster's inside, and are logged.
HttpReply failure(const Error& error);
std::string without_api_paths(std::string message);
// 401: who asks is not known (--auth=token).
HttpReply unauthenticated(std::string_view what);
// 501: another method, or one that this version does not have yet; `allowed` names the others.
HttpReply not_implemented(std::string_view what, const std::string& allowed);
// What the HTTP server refuses before a route is asked. Keeps the status, but for 503 (no
// capacity), which passes by itself, so that it is the 200 that clients repeat, and for 405, which
// is 501 in this API.
HttpReply refusal(int status, const std::string& reason);

}  // namespace nervex::server
