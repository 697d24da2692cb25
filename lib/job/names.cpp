#include "job/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"

namespace nervex::job {
namespace {

constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr int kSuffixLength = 5;
constexpr std::uint64_t kSuffixes = 27ULL * 27 * 27 * 27 * 27;
constexpr std::uint64_t kIncarnations = kMaxIncarnation + 1;
static_assert(kAlphabet.size() == 27);
static_assert((kMaxOrdinal + 1) * kIncarnations <= kSuffixes);

// The finaliser of splitmix64: every input bit changes about half of the output bits.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// A keyed permutation of 0..kSide²-1: a Feistel network over two digits of base kSide. Each round
// adds a hash of one digit to the other, which can be undone, so no two inputs collide.
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

constexpr std::uint64_t unpermute(std::uint64_t value, std::uint64_t key) {
  std::uint64_t left = value / kSide;
  std::uint64_t right = value % kSide;
  for (std::uint64_t round = kRounds; round-- > 0;) {
    const std::uint64_t added = mix(key ^ (round << 32) ^ left) % kSide;
    const std::uint64_t before = (right + kSide - added) % kSide;
    right = left;
    left = before;
  }
  return left * kSide + right;
}

// Restricted to 0..kSuffixes-1: follows the permutation's cycle until it is back in the range.
constexpr std::uint64_t permute_suffix(std::uint64_t value, std::uint64_t key) {
  do {
    value = permute(value, key);
  } while (value >= kSuffixes);
  return value;
}

// Walks the same cycle backwards.
constexpr std::uint64_t unpermute_suffix(std::uint64_t value, std::uint64_t key) {
  do {
    value = unpermute(value, key);
  } while (value >= kSuffixes);
  return value;
}

std::uint64_t permutation_key(std::string_view job_uid, Role role) {
  return mix(fnv1a(to_string(role), fnv1a("/", fnv1a(job_uid))));
}

// The suffix as a number below kSuffixes, its first character the lowest digit.
std::optional<std::uint64_t> parse_suffix(std::string_view suffix) {
  if (suffix.size() != kSuffixLength) return std::nullopt;
  std::uint64_t number = 0;
  for (auto c = suffix.rbegin(); c != suffix.rend(); ++c) {
    const auto digit = kAlphabet.find(*c);
    if (digit == std::string_view::npos) return std::nullopt;
    number = number * kAlphabet.size() + digit;
  }
  return number;
}

// `<job>-<role>` of the coordinator and of the job's own aggregator.
bool has_single(Role role) { return role == Role::kCoordinator || role == Role::kAggregator; }
bool has_fixed_name(Role role, Slot slot) { return has_single(role) && slot.ordinal == 0; }

constexpr int kPerOrdinal = kMaxIncarnation + 1;

// The role of the pod's replica. Aggregators and ddp-learners belong to multi-GPU learners.
Role replica_role(Role role) {
  return role == Role::kCollector ? Role::kCollector : Role::kLearner;
}

// The ordinal and incarnation in the slot's name. nullopt: it has no name.
std::optional<Slot> named_as(const Job& job, Role role, Slot slot) {
  if (slot.incarnation <= kMaxIncarnation) return slot;
  const int first = slot.incarnation - slot.incarnation % kPerOrdinal;
  for (const auto& one : job.status.continued) {
    const int part = slot.ordinal - one.from.ordinal;
    const bool has_it = one.role == replica_role(role) && one.from.incarnation == first &&
                        part >= 0 && part < one.count;
    if (has_it) return Slot{one.ordinal + part, slot.incarnation % kPerOrdinal};
  }
  return std::nullopt;
}

// The inverse of named_as().
Slot slot_named(const Job& job, Role role, Slot name) {
  if (name.ordinal < kFirstContinuedOrdinal) return name;
  for (const auto& one : job.status.continued) {
    const int part = name.ordinal - one.ordinal;
    if (one.role != replica_role(role) || part < 0 || part >= one.count) continue;
    return {one.from.ordinal + part, one.from.incarnation + name.incarnation};
  }
  return name;
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
  const std::uint64_t number = static_cast<std::uint64_t>(slot.ordinal) * kIncarnations +
                               static_cast<std::uint64_t>(slot.incarnation);
  std::uint64_t rest = permute_suffix(number, permutation_key(job_uid, role));
  std::string suffix(kSuffixLength, ' ');
  for (char& c : suffix) {
    c = kAlphabet[rest % kAlphabet.size()];
    rest /= kAlphabet.size();
  }
  return suffix;
}

std::optional<Slot> slot_of_suffix(std::string_view job_uid, Role role, std::string_view suffix) {
  const auto number = parse_suffix(suffix);
  if (!number) return std::nullopt;
  const std::uint64_t plain = unpermute_suffix(*number, permutation_key(job_uid, role));
  if (plain / kIncarnations > kMaxOrdinal) return std::nullopt;
  return Slot{static_cast<int>(plain / kIncarnations), static_cast<int>(plain % kIncarnations)};
}

std::string pod_name(const Job& job, Role role, Slot slot) {
  if (has_fixed_name(role, slot)) return fmt::format("{}-{}", job.meta.name, to_string(role));
  // No pod is made for a slot without a name, but the text must be a valid name.
  const Slot fallback{slot.ordinal, slot.incarnation % kPerOrdinal};
  return fmt::format("{}-{}-{}", job.meta.name, to_string(role),
                     name_suffix(job.meta.uid, role, named_as(job, role, slot).value_or(fallback)));
}

bool has_name(const Job& job, Role role, Slot slot) {
  return has_fixed_name(role, slot) || named_as(job, role, slot).has_value();
}

std::optional<NamedSlot> slot_of_pod_name(const Job& job, std::string_view pod) {
  for (const Role role : {Role::kCoordinator, Role::kAggregator, Role::kCollector, Role::kLearner,
                          Role::kDdpLearner}) {
    const std::string name = fmt::format("{}-{}", job.meta.name, to_string(role));
    if (!pod.starts_with(name)) continue;
    const std::string_view rest = pod.substr(name.size());
    if (rest.empty() && has_single(role)) return NamedSlot{role, {}};
    if (!rest.starts_with('-') || role == Role::kCoordinator) continue;
    if (const auto slot = slot_of_suffix(job.meta.uid, role, rest.substr(1))) {
      return NamedSlot{role, slot_named(job, role, *slot)};
    }
  }
  return std::nullopt;
}

std::string pod_group_name(const Job& job, int attempt) {
  return fmt::format("{}-{}", job.meta.name, attempt);
}

bool is_dns_1035(std::string_view name, bool is_prefix) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && letter(name.front()) && (is_prefix || name.back() != '-') &&
         std::all_of(name.begin(), name.end(), allowed);
}

NameLimit name_limit(bool has_collector, bool has_learner) {
  const std::string_view longest = has_learner     ? "-ddp-learner-xxxxx"
                                   : has_collector ? "-collector-xxxxx"
                                                   : "-coordinator";
  return {kMaxNameLength - static_cast<int>(longest.size()), longest};
}

Result<Nothing> check_job_name(const Job& job) {
  const auto has_template = [](const std::optional<RoleSpec>& role) {
    return role && !role->pod_template.is_null();
  };
  const std::string& name = job.meta.name;
  const NameLimit limit =
      name_limit(has_template(job.spec.collector), has_template(job.spec.learner));
  if (std::cmp_greater(name.size(), limit.length)) {
    return Error{Code::kInvalid,
                 fmt::format("the name has {} characters, but may have at most {}: the pod name "
                             "<name>{} may have at most {}",
                             name.size(), limit.length, limit.longest_pod, kMaxNameLength)};
  }
  if (is_dns_1035(name)) return ok();
  return Error{Code::kInvalid,
               "the name must consist of lower-case letters, digits or '-', start with a letter "
               "and end with a letter or digit: the job's services are named after it"};
}

}  // namespace nervex::job
