#include "base/sip_hash.h"

#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

namespace nervex {
namespace {

constexpr SipHash::Key kKey{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};

// As `openssl mac -macopt size:16 SIPHASH` writes the bytes.
constexpr Hash128 digest(std::uint64_t first, std::uint64_t second) {
  return {__builtin_bswap64(first), __builtin_bswap64(second)};
}

TEST_CASE("hashes are those of SipHash-2-4 with 128 bits", "[base][hash]") {
  SipHash hash(kKey);
  CHECK(hash.finish() == digest(0xA3817F04BA25A8E6U, 0x6DF67214C7550293U));
  hash.add(std::uint64_t{0x0706050403020100U});
  CHECK(hash.finish() == digest(0x3B62A9BA6258F561U, 0x0F83E264F31497B4U));
  hash.add(std::uint64_t{0x0f0e0d0c0b0a0908U});
  CHECK(hash.finish() == digest(0x6EE2A4CA67B054BBU, 0xFD3315BF85230577U));
  hash.add(std::uint64_t{0x1716151413121110U});
  CHECK(hash.finish() == digest(0x2DB479AE78BD50D8U, 0x882A8A178A6132ADU));
}

TEST_CASE("texts that are added differ from each other", "[base][hash]") {
  std::set<std::uint64_t> seen;
  const auto is_new = [&](std::initializer_list<std::string> texts) {
    SipHash hash(kKey);
    for (const auto& text : texts) hash.add(text);
    return seen.insert(hash.finish().low).second;
  };
  for (std::size_t size = 1; size < 40; ++size) {
    CHECK(is_new({std::string(size, '\0')}));
    CHECK(is_new({std::string(size, '\xff')}));
    CHECK(is_new({std::string(size, 'x'), "y"}));
    CHECK(is_new({std::string(size, 'x') + "y"}));
  }
  CHECK(is_new({""}));
  CHECK(is_new({"", ""}));
  CHECK_FALSE(is_new({"", ""}));
}

TEST_CASE("another key gives other hashes", "[base][hash]") {
  const SipHash::Key first = SipHash::random_key();
  const SipHash::Key second = SipHash::random_key();
  CHECK(SipHash(first).add("a").finish() == SipHash(first).add("a").finish());
  CHECK_FALSE(SipHash(first).add("a").finish() == SipHash(second).add("a").finish());
}

}  // namespace
}  // namespace nervex
