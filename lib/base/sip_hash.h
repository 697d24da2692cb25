// base/sip_hash.h - which short key stands for a value that callers choose? SipHash-2-4 with 128
// bits of output (Aumasson and Bernstein, 2012).
//
// With a random key that stays in the process, callers cannot find two values with the same hash.
// So a cache may compare hashes instead of values. Nothing is allocated, and short values are
// cheap.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>

namespace nervex {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
};

class SipHash {
 public:
  struct Key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
  };
  static Key random_key();

  explicit SipHash(Key key)
      : v0_(key.low ^ 0x736f6d6570736575U),
        v1_(key.high ^ 0x646f72616e646f6dU ^ 0xeeU),
        v2_(key.low ^ 0x6c7967656e657261U),
        v3_(key.high ^ 0x7465646279746573U) {}

  // Added values form a sequence: add("a"), add("b") differs from add("ab"). A text never equals
  // the same number of words, unless a word's highest byte is below 8 or 0xff.
  SipHash& add(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
    bytes_ += sizeof word;
    return *this;
  }
  SipHash& add(std::string_view text) {
    constexpr std::uint64_t kLongText = std::uint64_t{0xff} << 56U;
    if (text.size() < sizeof(std::uint64_t)) return add(load(text) | (text.size() << 56U));
    add(kLongText | text.size());
    for (; text.size() > sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
      add(load(text.substr(0, sizeof(std::uint64_t))));
    }
    return add(load(text));
  }

  // How much was added: of texts a little more than their length.
  std::size_t bytes() const { return bytes_; }

  Hash128 finish() const {
    SipHash end = *this;
    end.add(bytes_ << 56U);
    end.v2_ ^= 0xeeU;
    const std::uint64_t low = end.mix();
    end.v1_ ^= 0xddU;
    return {low, end.mix()};
  }

 private:
  static std::uint64_t load(std::string_view at_most_eight) {
    std::uint64_t word = 0;
    if (at_most_eight.empty()) return word;
    std::memcpy(&word, at_most_eight.data(), at_most_eight.size());
    return word;
  }
  void round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }
  std::uint64_t mix() {
    for (int i = 0; i < 4; ++i) round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

  std::uint64_t v0_;
  std::uint64_t v1_;
  std::uint64_t v2_;
  std::uint64_t v3_;
  std::uint64_t bytes_ = 0;
};

}  // namespace nervex

// A part of a hash is one.
template <>
struct std::hash<nervex::Hash128> {
  std::size_t operator()(const nervex::Hash128& value) const { return value.low; }
};
