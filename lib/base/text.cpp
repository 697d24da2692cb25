#include "base/text.h"

#include <algorithm>
#include <numeric>

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

std::vector<std::string> wrap_text(std::string_view text, std::size_t limit, std::size_t most) {
  constexpr std::string_view kGoesOn = "...";
  std::vector<std::string> lines;
  std::string line;
  while (line.size() + text.size() > limit && lines.size() + 1 < most) {
    const std::size_t room = limit - kGoesOn.size() - line.size();
    const std::size_t space = text.substr(0, room + 1).rfind(' ');
    if (space == std::string_view::npos || space == 0) break;  // one long word
    lines.push_back(line.append(text.substr(0, space)).append(kGoesOn));
    line = kGoesOn;
    text.remove_prefix(space + 1);
  }
  lines.push_back(cut_text(line.append(text), limit));
  return lines;
}

std::string to_lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

namespace {

// The number of edits from one to the other: insert, delete, replace, swap neighbours (optimal
// string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string closest_name(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t kMaxLength = 64;  // of field names; the cost is quadratic
  if (name.size() > kMaxLength) return "";
  const std::string wanted = to_lower(name);
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const auto& candidate : known) {
    if (candidate.size() > kMaxLength) continue;
    const std::size_t edits = distance(wanted, to_lower(candidate));
    if (edits >= best_distance) continue;
    best = candidate;
    best_distance = edits;
  }
  return best;
}

}  // namespace nervex
