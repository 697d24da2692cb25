#include "server/body_hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <span>

#include "base/error.h"

namespace nervex::server {

std::string body_hash(std::string_view body) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  // It fails only for want of memory, or if the machine's OpenSSL has no SHA-256.
  NERVEX_CHECK(EVP_Digest(body.data(), body.size(), digest.data(), &size, EVP_sha256(), nullptr) ==
               1);
  std::string text;
  text.reserve(std::size_t{size} * 2);
  for (const auto byte : std::span(digest).first(size)) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace nervex::server
