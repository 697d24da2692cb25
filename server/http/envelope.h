// server/http/envelope.h - which form do all answers of the replicas API have? Pure.
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

// 200 with the listing, or an array of listings, as data. Empty lists are [], never null.
HttpReply success(std::string_view message, const Listing& data);
HttpReply success(std::string_view message, const std::vector<Listing>& data);

// success:false. The status follows the code, because clients act on it:
//   kInvalid 400 (body or query), kNotFound 404, kConflict 409 (its job does not allow the change),
//   kForbidden 403 (not allowed): final for the caller;
//   kTransient, and all errors that are not the caller's fault: 200, the only answer that clients
//   repeat. Any other status ends a client's communication for good.
// Omits the paths of this program's requests to the API server: they reveal cluster internals, and
// are logged.
HttpReply failure(const Error& error);
std::string without_api_paths(std::string message);
// 401: the caller is unknown (--auth=token).
HttpReply unauthenticated(std::string_view what);
// 501: another method, or one that this version lacks; `allowed` names the others.
HttpReply not_implemented(std::string_view what, const std::string& allowed);
// For what the HTTP server refuses before routing. Keeps the status, except 503 (no capacity),
// which is temporary and becomes the 200 that clients repeat, and 405, which is 501 in this API.
HttpReply refusal(int status, const std::string& reason);

}  // namespace nervex::server
