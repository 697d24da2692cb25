#include "job/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace nervex::job {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

// The steps of HumanDuration (k8s.io/apimachinery/pkg/util/duration): two units while both matter.
std::string short_duration(std::chrono::seconds duration) {
  const std::int64_t s = std::max<std::int64_t>(duration.count(), 0);
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  if (s < 2 * kMinute) return fmt::format("{}s", s);
  if (s < 10 * kMinute) return fmt::format("{}m{}s", s / kMinute, s % kMinute);
  if (s < 3 * kHour) return fmt::format("{}m", s / kMinute);
  if (s < 8 * kHour) return fmt::format("{}h{}m", s / kHour, s % kHour / kMinute);
  if (s < 2 * kDay) return fmt::format("{}h", s / kHour);
  if (s < 8 * kDay) return fmt::format("{}d{}h", s / kDay, s % kDay / kHour);
  return fmt::format("{}d", s / kDay);
}

std::string cut_text(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t end = limit - 3;
  while (end > 0 && continues_character(text[end])) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string last_bytes(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  text.remove_prefix(text.size() - limit);
  while (!text.empty() && continues_character(text.front())) text.remove_prefix(1);
  return std::string(text);
}

}  // namespace nervex::job
