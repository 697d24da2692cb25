#include "cli/simulate/question.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace nervex::cli {
namespace {

// A number above 0.
std::optional<int> parse_count(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && count > 0 ? std::optional(count) : std::nullopt;
}

}  // namespace

Result<Json> parse_growth(const std::string& text) {
  const std::size_t sign = text.find('=');
  const auto count = sign == std::string::npos
                         ? std::nullopt
                         : parse_count(std::string_view(text).substr(sign + 1));
  if (!count || sign == 0) {
    return Error{Code::kInvalid, fmt::format("--grow {}: write JOB=NUMBER, as in dqn=4", text)};
  }
  return Json{{"job", text.substr(0, sign)}, {"replicas", *count}};
}

Result<Json> parse_node_changes(const std::vector<std::string>& texts) {
  Json nodes;
  for (const std::string& text : texts) {
    const std::size_t colon = text.find(':');
    if (text.size() > 1 && text.front() == '-') {
      nodes["remove"].push_back(text.substr(1));
      continue;
    }
    const auto count = text.size() < 2 || text.front() != '+' || colon == std::string::npos
                           ? std::nullopt
                           : parse_count(std::string_view(text).substr(1, colon - 1));
    if (!count || colon + 1 == text.size()) {
      return Error{Code::kInvalid,
                   fmt::format("--nodes {}: write +NUMBER:CLASS or +NUMBER:NODE for nodes like "
                               "those, or -NODE for one less",
                               text)};
    }
    nodes["add"].push_back({{"like", text.substr(colon + 1)}, {"count", *count}});
  }
  return nodes;
}

}  // namespace nervex::cli
