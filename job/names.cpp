#include "job/names.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace nervex::job {
namespace {

constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr int kSuffixLength = 5;
constexpr std::uint64_t kSuffixes = 27ULL * 27 * 27 * 27 * 27;
constexpr std::uint64_t kIncarnations = kMaxIncarnation + 1;
static_assert(kAlphabet.size() == 27);
static_assert((kMaxOrdinal + 1) * kIncarnations <= kSuffixes);

// FNV-1a, 64 bits: the same on every platform and in every version, which names depend on.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

// The finaliser of splitmix64: every bit of the input changes about half of the output.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// A keyed permutation of 0..kSide²-1: a Feistel network over two digits of base kSide. Each round
// adds to one digit what the other one hashes to, so it can be undone, so nothing collides.
constexpr std::uint64_t kSide = 3788;
constexpr int kRounds = 6;
static_assert(kSide * kSide >= kSuffixes && (kSide - 1) * (kSide - 1) < kSuffixes);

constexpr std::uint64_t permute(std::uint64_t value, std::uint64_t key) {
  std::uint64_t left = value / kSide;
  std::uint64_t right = value % kSide;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t next = (left + mix(key ^ (round << 32) ^ right) % kSide) % kSide;
    left = right;
    right = next;
  }
  return left * kSide + right;
}

// Restricted to 0..kSuffixes-1 by walking the permutation's cycle until it is back inside.
constexpr std::uint64_t permute_suffix(std::uint64_t value, std::uint64_t key) {
  do {
    value = permute(value, key);
  } while (value >= kSuffixes);
  return value;
}

}  // namespace

int default_port(Role role) {
  switch (role) {
    case Role::kCoordinator:
      return 22273;
    case Role::kAggregator:
      return 22272;
    case Role::kCollector:
      return 22270;
    case Role::kLearner:
    case Role::kDdpLearner:
      return 22271;
  }
  return 0;
}

std::string name_suffix(std::string_view job_uid, Role role, Slot slot) {
  const std::uint64_t key = mix(fnv1a(to_string(role), fnv1a("/", fnv1a(job_uid))));
  const std::uint64_t number = static_cast<std::uint64_t>(slot.ordinal) * kIncarnations +
                               static_cast<std::uint64_t>(slot.incarnation);
  std::uint64_t rest = permute_suffix(number, key);
  std::string suffix(kSuffixLength, ' ');
  for (char& c : suffix) {
    c = kAlphabet[rest % kAlphabet.size()];
    rest /= kAlphabet.size();
  }
  return suffix;
}

std::string pod_name(const Job& job, Role role, Slot slot) {
  const bool is_single = role == Role::kCoordinator || role == Role::kAggregator;
  if (is_single && slot.ordinal == 0) return fmt::format("{}-{}", job.meta.name, to_string(role));
  return fmt::format("{}-{}-{}", job.meta.name, to_string(role),
                     name_suffix(job.meta.uid, role, slot));
}

std::string pod_group_name(const Job& job, int attempt) {
  return fmt::format("{}-{}", job.meta.name, attempt);
}

}  // namespace nervex::job
