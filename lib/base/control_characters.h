// base/control_characters.h - which characters of a text can control a terminal or an editor?
#pragma once

#include <string_view>

namespace nervex {

struct TextCharacter {
  std::string_view bytes;  // UTF-8; a single byte if that starts no valid character
  // A control character (U+0000 to U+001F, U+007F to U+009F), a line separator (U+2028, U+2029), a
  // direction mark (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), or a byte that is
  // not UTF-8: a terminal in another encoding may take it for a control.
  bool is_control = false;
};

// The character that `text`, which is not empty, starts with (Unicode 15, table 3-7).
TextCharacter first_character(std::string_view text);

}  // namespace nervex
