#include "job/text.h"

namespace nervex::job {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

std::string last_bytes(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  text.remove_prefix(text.size() - limit);
  while (!text.empty() && continues_character(text.front())) text.remove_prefix(1);
  return std::string(text);
}

}  // namespace nervex::job
