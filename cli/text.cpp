#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/control_characters.h"
#include "base/duration.h"
#include "base/text.h"

namespace nervex::cli {
namespace {

// Characters, without the escape sequences of colours.
std::size_t width(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80 || byte >= 0xC0) ++count;  // not the continuation of a UTF-8 character
  }
  return count;
}

// Replaces each control character by what `replace` returns for it and the text from it on.
template <typename Replace>
std::string replace_controls(std::string_view text, Replace replace) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const auto [character, is_control] = first_character(text);
    if (is_control) {
      clean += replace(character, text);
    } else {
      clean += character;
    }
    text.remove_prefix(character.size());
  }
  return clean;
}

// With a sequence of Paint: "ESC[31m", "ESC[0m".
bool starts_with_colour(std::string_view text) {
  if (!text.starts_with("\x1b[")) return false;
  text.remove_prefix(2);
  const auto end = text.find('m');
  return end <= 2 && is_digits(text.substr(0, end));
}

// The number of a character below U+10000; of a byte that is no character its value.
unsigned code_point(std::string_view character) {
  const auto bits = [&](std::size_t i, unsigned mask) {
    return static_cast<unsigned char>(character[i]) & mask;
  };
  if (character.size() == 3) return bits(0, 0xF) << 12U | bits(1, 0x3F) << 6U | bits(2, 0x3F);
  return character.size() == 2 ? bits(0, 0x1F) << 6U | bits(1, 0x3F) : bits(0, 0xFF);
}

void widen(std::vector<std::size_t>& widths, const Rows& rows) {
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
}

std::string lay_out(const Rows& rows, const std::vector<std::size_t>& widths,
                    std::string_view indent) {
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string wrap(std::string_view text, std::size_t width) {
  std::string wrapped;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!wrapped.empty()) wrapped += '\n';
    while (line.size() > width && !line.starts_with(' ')) {
      auto space = line.rfind(' ', width);
      if (space == std::string_view::npos) space = line.find(' ');
      if (space == std::string_view::npos) break;
      wrapped += line.substr(0, space);
      wrapped += '\n';
      line.remove_prefix(space + 1);
    }
    wrapped += line;
  }
  return wrapped;
}

std::string duration_since(SysTime then, SysTime now) {
  return short_duration(std::chrono::duration_cast<std::chrono::seconds>(now - then));
}

std::string moment(SysTime then, SysTime now) {
  return fmt::format("{}, {} ago", to_rfc3339(then), duration_since(then, now));
}

std::string coarse_position(int position) {
  constexpr int kLastExact = 2;
  if (position == 0) return "-";
  return fmt::format("{}{}", position, position > kLastExact ? "+" : "");
}

std::string printable(std::string_view text) {
  return replace_controls(text, [](std::string_view control, std::string_view) {
    return control == "\n" || control == "\t" ? " " : "?";
  });
}

std::string printable_output(std::string_view text, bool has_colours) {
  return replace_controls(text, [&](std::string_view control, std::string_view rest) {
    const bool is_kept =
        control == "\n" || control == "\t" || (has_colours && starts_with_colour(rest));
    return std::string(is_kept ? control : "?");
  });
}

std::string escape_controls(std::string_view json) {
  return replace_controls(json, [](std::string_view control, std::string_view) {
    return control == "\n" ? std::string(control) : fmt::format("\\u{:04x}", code_point(control));
  });
}

std::string table(const Rows& rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  widen(widths, rows);
  return lay_out(rows, widths, indent);
}

std::string GrowingTable::add(const Rows& rows) {
  widen(widths_, rows);
  return lay_out(rows, widths_, "");
}

}  // namespace nervex::cli
