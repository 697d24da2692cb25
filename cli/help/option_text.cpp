#include "cli/help/option_text.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace nervex::cli {
namespace {

// "table, json" of "FORMAT:{table,json}".
std::string list_values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto from = type.find('{');
  if (from == std::string::npos) return "";
  std::string text = type.substr(from + 1, type.rfind('}') - from - 1);
  for (auto at = text.find(','); at != std::string::npos; at = text.find(',', at + 2)) {
    text.insert(at + 1, " ");
  }
  return text;
}

}  // namespace

std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return option.get_items_expected_max() == 0 ? "" : type.substr(0, type.find(':'));
}

std::string describe_option(const CLI::Option& option) {
  std::string text = option.get_description();
  if (const std::string values = list_values(option); !values.empty()) text += ": " + values;
  if (!option.get_default_str().empty()) {
    text += fmt::format(" (default: {})", option.get_default_str());
  }
  if (!option.get_envname().empty()) text += fmt::format(" (or ${})", option.get_envname());
  return text;
}

std::string usage(const CLI::App& verb, const std::string& words) {
  std::string text = words;
  for (const CLI::Option* option : verb.get_options()) {
    const std::string value = value_name(*option);
    const std::string many =
        option->get_items_expected_max() >= CLI::detail::expected_max_vector_size ? "..." : "";
    if (option->get_positional()) {
      text += option->get_required() ? fmt::format(" {}{}", value, many)
                                     : fmt::format(" [{}{}]", value, many);
    } else if (option->get_required()) {
      text += fmt::format(" --{} {}", option->get_lnames().at(0), value);
    }
  }
  return text;
}

}  // namespace nervex::cli
