// base/http/reply.h - how is a reply written on the wire? Pure.
#pragma once

#include <string>

#include "base/http/messages.h"

namespace nervex {

// Status line and headers, with the empty line. Content-Length is the body's, also for HEAD, whose
// reply then comes without it.
std::string http_reply_head(const HttpReply& reply, bool closing);

}  // namespace nervex
