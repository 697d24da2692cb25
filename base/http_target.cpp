#include "base/http_target.h"

#include <algorithm>
#include <charconv>

namespace nervex {

namespace {

// The byte that "%XX" at the beginning of `text` stands for, or -1.
int escaped_byte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return -1;
  int byte = -1;
  const char* end = text.data() + 3;
  const auto parsed = std::from_chars(text.data() + 1, end, byte, 16);
  return parsed.ec == std::errc() && parsed.ptr == end ? byte : -1;
}

std::string decode(std::string_view text, bool plus_is_space) {
  std::string out;
  while (!text.empty()) {
    const int byte = escaped_byte(text);
    const bool is_plus = plus_is_space && text[0] == '+';
    out += byte >= 0 ? static_cast<char>(byte) : is_plus ? ' ' : text[0];
    text.remove_prefix(byte >= 0 ? 3 : 1);
  }
  return out;
}

// Takes what stands before `mark`, and the mark.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

}  // namespace

HttpTarget split_http_target(std::string_view target) {
  HttpTarget split;
  split.path = decode(take_until(target, '?'), false);
  while (!target.empty()) {
    std::string_view value = take_until(target, '&');
    if (value.empty()) continue;
    const std::string_view name = take_until(value, '=');
    split.query.emplace(decode(name, true), decode(value, true));
  }
  return split;
}

}  // namespace nervex
