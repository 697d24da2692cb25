#include "base/http/head_check.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace nervex {
namespace {

constexpr std::size_t kMaxTargetBytes = 1024;

char lower_case(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(),
                    [](char a, char b) { return lower_case(a) == b; });
}

// Whether a Connection header contains the word.
bool lists_close(std::string_view connection) {
  constexpr std::string_view kBetween = ", \t";
  for (;;) {
    const std::size_t begin = connection.find_first_not_of(kBetween);
    if (begin == std::string_view::npos) return false;
    connection.remove_prefix(begin);
    const std::size_t size = std::min(connection.find_first_of(kBetween), connection.size());
    if (equals_ignoring_case(connection.substr(0, size), "close")) return true;
    connection.remove_prefix(size);
  }
}

Refused check_target(std::string_view method, std::string_view target) {
  const auto is_plain = [](char c) { return '!' <= c && c <= '~'; };
  if (method == "CONNECT" || method == "TRACE") return Refusal{501, "the method is not supported"};
  if (target.size() > kMaxTargetBytes) return Refusal{414, "the URI is too long"};
  if (!std::all_of(target.begin(), target.end(), is_plain)) {
    return Refusal{400, "the URI contains characters that must be percent-encoded"};
  }
  if (!target.starts_with('/') && target != "*") {
    return Refusal{400, "the URI does not start with a slash"};
  }
  return std::nullopt;
}

Refused check_length(const std::string& text, std::size_t max_body_bytes) {
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) {
    return Refusal{400, "header content-length is not a number"};
  }
  std::size_t length = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), length);
  if (parsed.ec != std::errc() || length > max_body_bytes) {
    return Refusal{413, fmt::format("the body is larger than {} bytes", max_body_bytes)};
  }
  return std::nullopt;
}

}  // namespace

void HeadCheck::see_text(std::string_view head) {
  for (std::size_t end = head.find('\n'); end != head.npos; end = head.find('\n')) {
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 1);
    if (!equals_ignoring_case(line.substr(0, length_.name.size()), length_.name)) continue;
    const std::size_t colon = line.find_first_not_of(" \t", length_.name.size());
    if (colon == line.npos || line[colon] != ':') continue;  // a longer name
    if (line.find('%', colon) != line.npos) has_encoded_length_ = true;
  }
}

void HeadCheck::see_header(std::string_view name, const std::string& value) {
  for (Deciding* known :
       {&host_, &length_, &transfer_encoding_, &content_encoding_, &expect_, &authorization_}) {
    if (!equals_ignoring_case(name, known->name)) continue;
    if (known->value != nullptr) repeated_ = known->name;
    known->value = &value;
  }
  if (equals_ignoring_case(name, "connection") && lists_close(value)) asks_for_close_ = true;
}

Refused HeadCheck::check(std::string_view method, std::string_view target, bool http_1_1,
                         std::size_t max_body_bytes) const {
  if (auto refused = check_target(method, target)) return refused;
  return check_headers(http_1_1, max_body_bytes);
}

Refused HeadCheck::check_headers(bool http_1_1, std::size_t max_body_bytes) const {
  if (!repeated_.empty()) return Refusal{400, fmt::format("header {} is repeated", repeated_)};
  if (http_1_1 && host_.value == nullptr) return Refusal{400, "header host is missing"};
  if (transfer_encoding_.value != nullptr) {
    return Refusal{411, "header transfer-encoding is not accepted: send content-length"};
  }
  if (content_encoding_.value != nullptr) {
    return Refusal{415, "header content-encoding is not accepted: send the body as it is"};
  }
  if (has_encoded_length_) return Refusal{400, "header content-length is not a number"};
  if (length_.value != nullptr) {
    if (auto refused = check_length(*length_.value, max_body_bytes)) return refused;
  }
  const std::string* expect = expect_.value;
  if (expect != nullptr && !expect->empty() && !equals_ignoring_case(*expect, "100-continue")) {
    return Refusal{417, "header expect has an unsupported value"};
  }
  return std::nullopt;
}

}  // namespace nervex
