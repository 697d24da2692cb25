// cli/terminal.h - may output be coloured, and how?
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace nervex::cli {

// True for a terminal that shows colours: TERM is not "dumb", and NO_COLOR is not set
// (https://no-color.org).
bool has_colours(std::FILE* stream);

enum class Colour { kRed, kGreen, kYellow, kBlue, kMagenta, kCyan };

// Colours texts, or leaves them as they are. Pure.
class Paint {
 public:
  explicit Paint(bool enabled) : enabled_(enabled) {}
  std::string operator()(Colour colour, std::string_view text) const;

 private:
  bool enabled_;
};

}  // namespace nervex::cli
