// base/tls/sha256.h - what is the SHA-256 of a text? The only use of OpenSSL's digests.
#pragma once

#include <string>
#include <string_view>

namespace nervex {

// 64 hexadecimal digits. Thread-safe.
std::string sha256_hex(std::string_view text);

}  // namespace nervex
