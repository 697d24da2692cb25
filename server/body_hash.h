// server/body_hash.h - by what is the body of a call known again?
#pragma once

#include <string>
#include <string_view>

namespace nervex::server {

// SHA-256 of the bytes, 64 hexadecimal digits: whoever may call must not be able to make a body
// that counts as another one's repeat.
std::string body_hash(std::string_view body);

}  // namespace nervex::server
