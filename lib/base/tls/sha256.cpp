#include "base/tls/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <span>

#include "base/error.h"

namespace nervex {

std::string sha256_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  // Fails only when out of memory, or if the machine's OpenSSL has no SHA-256.
  NERVEX_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) ==
               1);
  std::string digits;
  digits.reserve(std::size_t{size} * 2);
  for (const auto byte : std::span(digest).first(size)) digits += fmt::format("{:02x}", byte);
  return digits;
}

}  // namespace nervex
