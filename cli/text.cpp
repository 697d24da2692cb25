#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"

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
  std::string clean(text);
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const auto byte = static_cast<unsigned char>(clean[i]);
    // U+0080 to U+009F, two bytes in UTF-8, also control a terminal.
    const bool is_c1 =
        byte == 0xC2 && i + 1 < clean.size() && static_cast<unsigned char>(clean[i + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F) clean[i] = byte == '\n' || byte == '\t' ? ' ' : '?';
    if (!is_c1) continue;
    clean[i] = '?';
    clean.erase(i + 1, 1);
  }
  return clean;
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
