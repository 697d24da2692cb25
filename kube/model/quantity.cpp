#include "kube/model/quantity.h"

#include <array>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace nervex::kube {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// A quantity taken apart: digits, where the decimal point stands among them, and the suffix.
struct Parts {
  bool negative = false;
  std::string digits;         // "15" for "1.5Gi"
  std::int64_t point = 0;     // digits before the decimal point: 1 for "1.5Gi"; may be negative
  unsigned binary_shift = 0;  // 30 for "1.5Gi"
};

// An amount in some unit: |amount| = whole + something in [0, 1).
struct Amount {
  bool negative = false;
  Wide whole = 0;
  bool has_rest = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Suffix {
  std::string_view text;
  int decimal_exponent;
  unsigned binary_shift;
};
constexpr std::array<Suffix, 16> kSuffixes{{
    {"n", -9, 0},
    {"u", -6, 0},
    {"m", -3, 0},
    {"", 0, 0},
    {"k", 3, 0},
    {"M", 6, 0},
    {"G", 9, 0},
    {"T", 12, 0},
    {"P", 15, 0},
    {"E", 18, 0},
    {"Ki", 0, 10},
    {"Mi", 0, 20},
    {"Gi", 0, 30},
    {"Ti", 0, 40},
    {"Pi", 0, 50},
    {"Ei", 0, 60},
}};

// "3", "+3" or "-3" behind an e or E. More than three digits are beyond anything that fits.
std::optional<int> parse_exponent(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 3) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

bool apply_suffix(std::string_view text, Parts& parts) {
  for (const auto& suffix : kSuffixes) {
    if (suffix.text != text) continue;
    parts.point += suffix.decimal_exponent;
    parts.binary_shift = suffix.binary_shift;
    return true;
  }
  if (!text.starts_with('e') && !text.starts_with('E')) return false;
  const auto exponent = parse_exponent(text.substr(1));
  if (!exponent) return false;
  parts.point += *exponent;
  return true;
}

std::optional<Parts> take_apart(std::string_view text) {
  Parts parts;
  parts.negative = text.starts_with('-');
  if (parts.negative || text.starts_with('+')) text.remove_prefix(1);
  bool seen_point = false;
  while (!text.empty() && (is_digit(text.front()) || (text.front() == '.' && !seen_point))) {
    if (text.front() == '.') {
      seen_point = true;
    } else {
      parts.digits += text.front();
      if (!seen_point) ++parts.point;
    }
    text.remove_prefix(1);
  }
  if (parts.digits.empty() || !apply_suffix(text, parts)) return std::nullopt;
  return parts;
}

// Doubles the fraction `digits` `shift` times; returns what grows over the decimal point and leaves
// the rest in `digits`.
Wide shift_fraction(std::string& digits, unsigned shift) {
  Wide carry = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    carry += static_cast<Wide>(*digit - '0') << shift;
    *digit = static_cast<char>('0' + static_cast<int>(carry % 10));
    carry /= 10;
  }
  return carry;
}

bool has_nonzero(std::string_view digits) {
  return digits.find_first_not_of('0') != std::string_view::npos;
}

// nullopt: beyond int64. Works on decimal digits, so nothing is rounded on the way.
std::optional<Amount> amount_of(Parts parts) {
  Amount amount{.negative = parts.negative, .whole = 0, .has_rest = false};
  if (!has_nonzero(parts.digits)) return Amount{};
  if (parts.point < 0) {  // below a tenth; only a negative exponent leads here, no binary suffix
    amount.has_rest = true;
    return amount;
  }
  const auto point = static_cast<std::size_t>(parts.point);
  std::string fraction = point < parts.digits.size() ? parts.digits.substr(point) : std::string();
  for (std::size_t i = 0; i < point; ++i) {
    const char digit = i < parts.digits.size() ? parts.digits[i] : '0';
    amount.whole = amount.whole * 10 + static_cast<Wide>(digit - '0');
    if (amount.whole > static_cast<Wide>(kMax)) return std::nullopt;
  }
  amount.whole <<= parts.binary_shift;  // below 2^63 before, at most 60 bits more
  amount.whole += shift_fraction(fraction, parts.binary_shift);
  amount.has_rest = has_nonzero(fraction);
  if (amount.whole > static_cast<Wide>(kMax)) return std::nullopt;
  return amount;
}

Error not_a_quantity(std::string_view text) {
  return {Code::kInvalid, fmt::format("\"{}\" is not a quantity", text.substr(0, 64))};
}

Error too_large(std::string_view text) {
  return {Code::kInvalid, fmt::format("quantity \"{}\" is too large", text.substr(0, 64))};
}

}  // namespace

Result<std::int64_t> parse_quantity(std::string_view text, Scale scale) {
  auto parts = take_apart(text);
  if (!parts) return not_a_quantity(text);
  if (scale == Scale::kMilli) parts->point += 3;
  const auto amount = amount_of(*std::move(parts));
  if (!amount) return too_large(text);
  const Wide magnitude = amount->whole + (amount->has_rest ? 1 : 0);
  if (magnitude > static_cast<Wide>(kMax)) return too_large(text);
  const auto value = static_cast<std::int64_t>(magnitude);
  return amount->negative ? -value : value;
}

bool is_quantity(std::string_view text) { return take_apart(text).has_value(); }

bool is_whole(std::string_view text) {
  auto parts = take_apart(text);
  if (!parts) return false;
  const auto amount = amount_of(*std::move(parts));
  return amount && !amount->has_rest;
}

std::string format_quantity(std::int64_t amount, Scale scale) {
  if (scale == Scale::kOne) return fmt::format("{}", amount);
  if (amount % 1000 == 0) return fmt::format("{}", amount / 1000);
  return fmt::format("{}m", amount);
}

std::string format_bytes(std::int64_t bytes) {
  if (bytes == 0) return "0";
  std::string_view unit;
  for (const auto next : {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}) {
    if (bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return fmt::format("{}{}", bytes, unit);
}

}  // namespace nervex::kube
