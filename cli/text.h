// cli/text.h - how are times, tables and texts of objects printed on a terminal? Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace nervex::cli {

// Ages as in kubectl, "35s", "2m5s", "3h5m"; a future time (clocks differ) is "0s".
std::string duration_since(SysTime then, SysTime now);
// "2026-11-21T14:03:12Z, 2m5s ago"
std::string moment(SysTime then, SysTime now);

// "2", "10+": statuses have positions in coarse steps, 10 stands for 10 to 19. "-": no position.
std::string coarse_position(int position);

// Control characters and direction marks (base/control_characters.h) become "?", lines and tabs
// spaces: text of objects must not control the terminal.
std::string printable(std::string_view text);
// What printable() makes of a whole output, but lines and tabs stay, and with `has_colours` those
// of Paint.
std::string printable_output(std::string_view text, bool has_colours);
// JSON whose strings have such characters as escapes: "\u009b". `json` has escapes for those below
// U+0020 already.
std::string escape_controls(std::string_view json);

// Breaks lines at spaces so that none has more than `width` bytes, if its words allow it. Lines
// that begin with a space are code and stay as they are.
std::string wrap(std::string_view text, std::size_t width);

// Columns are as wide as their widest cell, two spaces apart; each line starts with `indent`.
// Colours (terminal.h) take no width.
using Rows = std::vector<std::vector<std::string>>;
std::string table(const Rows& rows, std::string_view indent);

// A table to which rows are added while a verb watches: columns keep the width that they have.
class GrowingTable {
 public:
  // The text of these rows, under the earlier ones.
  std::string add(const Rows& rows);

 private:
  std::vector<std::size_t> widths_;
};

}  // namespace nervex::cli
