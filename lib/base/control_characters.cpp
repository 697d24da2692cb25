#include "base/control_characters.h"

#include <algorithm>
#include <cstddef>

namespace nervex {
namespace {

// The length of the valid UTF-8 character that `text` starts with, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto in = [](unsigned value, unsigned low, unsigned high) {
    return low <= value && value <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const auto tail = [&](std::size_t i) { return in(byte(i), 0x80, 0xBF); };
  if (in(lead, 0xC2, 0xDF)) return tail(1) ? 2 : 0;
  if (in(lead, 0xE0, 0xEF)) {
    const bool second = in(byte(1), lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
    return second && tail(2) ? 3 : 0;
  }
  if (in(lead, 0xF0, 0xF4)) {
    const bool second = in(byte(1), lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

// `character` is valid UTF-8.
bool is_control(std::string_view character) {
  if (character.size() == 1) return character[0] < ' ' || character[0] == '\x7F';
  const auto last = static_cast<unsigned char>(character.back());
  if (character.size() == 2) {
    return (character[0] == '\xC2' && last <= 0x9F) || character == "\xD8\x9C";
  }
  if (character.starts_with("\xE2\x80")) {
    return last == 0x8E || last == 0x8F || (0xA8 <= last && last <= 0xAE);
  }
  return character.starts_with("\xE2\x81") && 0xA6 <= last && last <= 0xA9;
}

}  // namespace

TextCharacter first_character(std::string_view text) {
  const std::size_t length = utf8_length(text);
  const std::string_view bytes = text.substr(0, std::max<std::size_t>(length, 1));
  return {bytes, length == 0 || is_control(bytes)};
}

}  // namespace nervex
