#include "base/text.h"

namespace nervex {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

std::string_view first_bytes(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && continues_character(text[limit])) --limit;
  return text.substr(0, limit);
}

std::string_view last_bytes(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  text.remove_prefix(text.size() - limit);
  while (!text.empty() && continues_character(text.front())) text.remove_prefix(1);
  return text;
}

std::string cut_text(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  return std::string(first_bytes(text, limit - 3)) + "...";
}

}  // namespace nervex
