#include "kube/model/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace nervex::kube {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// The parts of a quantity: digits, position of the decimal point, and suffix.
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

// "3", "+3" or "-3" after an e or E: parsed as 64 bits, truncated to 32.
std::optional<std::int32_t> parse_exponent(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && is_digit(text[1])) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return static_cast<std::int32_t>(value);
}

// The API server trims Unicode white space from the text as written in JSON: there a tab or a line
// feed is an escape sequence, and stays.
std::string_view trim_spaces(std::string_view text) {
  constexpr std::array<std::string_view, 20> kSpaces{" ",
                                                     "\xC2\x85",
                                                     "\xC2\xA0",
                                                     "\xE1\x9A\x80",
                                                     "\xE2\x80\x80",
                                                     "\xE2\x80\x81",
                                                     "\xE2\x80\x82",
                                                     "\xE2\x80\x83",
                                                     "\xE2\x80\x84",
                                                     "\xE2\x80\x85",
                                                     "\xE2\x80\x86",
                                                     "\xE2\x80\x87",
                                                     "\xE2\x80\x88",
                                                     "\xE2\x80\x89",
                                                     "\xE2\x80\x8A",
                                                     "\xE2\x80\xA8",
                                                     "\xE2\x80\xA9",
                                                     "\xE2\x80\xAF",
                                                     "\xE2\x81\x9F",
                                                     "\xE3\x80\x80"};
  const auto may_be_space = [](char c) { return c == ' ' || static_cast<unsigned char>(c) > 0x7F; };
  while (!text.empty() && (may_be_space(text.front()) || may_be_space(text.back()))) {
    const std::size_t before = text.size();
    for (const auto space : kSpaces) {
      if (text.starts_with(space)) text.remove_prefix(space.size());
      if (text.ends_with(space)) text.remove_suffix(space.size());
    }
    if (text.size() == before) break;
  }
  return text;
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

// Without digits it is zero, as for the API server: "Gi", and even "-".
std::optional<Parts> take_apart(std::string_view text) {
  Parts parts;
  text = trim_spaces(text);
  if (text.empty()) return std::nullopt;
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
  if (!apply_suffix(text, parts)) return std::nullopt;
  return parts;
}

// Doubles the fraction `digits` `shift` times. Returns the integer part and leaves the fraction in
// `digits`.
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

// Uses decimal digits, so nothing is rounded on the way. Beyond int64 it is kMax.
Amount compute_amount(Parts parts) {
  Amount amount{.negative = parts.negative, .whole = 0, .has_rest = false};
  const Amount most{.negative = parts.negative, .whole = static_cast<Wide>(kMax)};
  if (!has_nonzero(parts.digits)) return Amount{};
  if (parts.point < 0) {  // below a tenth: only from a negative exponent, so no binary suffix
    amount.has_rest = true;
    return amount;
  }
  const auto point = static_cast<std::size_t>(parts.point);
  std::string fraction = point < parts.digits.size() ? parts.digits.substr(point) : std::string();
  for (std::size_t i = 0; i < point; ++i) {
    const char digit = i < parts.digits.size() ? parts.digits[i] : '0';
    amount.whole = amount.whole * 10 + static_cast<Wide>(digit - '0');
    if (amount.whole > static_cast<Wide>(kMax)) return most;
  }
  amount.whole <<= parts.binary_shift;  // below 2^63 before, at most 60 bits more
  amount.whole += shift_fraction(fraction, parts.binary_shift);
  amount.has_rest = has_nonzero(fraction);
  return amount.whole > static_cast<Wide>(kMax) ? most : amount;
}

Error not_a_quantity(std::string_view text) {
  return {Code::kInvalid, fmt::format("\"{}\" is not a quantity", text.substr(0, 64))};
}

}  // namespace

Result<std::int64_t> parse_quantity(std::string_view text, Scale scale) {
  auto parts = take_apart(text);
  if (!parts) return not_a_quantity(text);
  if (scale == Scale::kMilli) parts->point += 3;
  const Amount amount = compute_amount(*std::move(parts));
  const Wide magnitude = amount.whole + (amount.has_rest ? 1 : 0);
  const auto value = static_cast<std::int64_t>(std::min(magnitude, static_cast<Wide>(kMax)));
  return amount.negative ? -value : value;
}

bool is_whole(std::string_view text) {
  auto parts = take_apart(text);
  return parts && !compute_amount(*std::move(parts)).has_rest;
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
