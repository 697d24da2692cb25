#include "cli/terminal.h"

#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

namespace nervex::cli {

bool has_colours(std::FILE* stream) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  return isatty(fileno(stream)) != 0 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

std::string Paint::operator()(Colour colour, std::string_view text) const {
  constexpr int kFirstCode = 31;  // ECMA-48, SGR: red and the colours after it
  if (!enabled_ || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kFirstCode + static_cast<int>(colour), text);
}

}  // namespace nervex::cli
