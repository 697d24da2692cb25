// base/tls/sha256.h - the SHA-256 of a text. The one door to OpenSSL's digests.
#pragma once

#include <string>
#include <string_view>

namespace nervex {

// 64 hexadecimal digits. Thread-safe.
std::string sha256_hex(std::string_view text);

}  // namespace nervex
