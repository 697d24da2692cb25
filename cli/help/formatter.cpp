#include "cli/help/formatter.h"

#include <fmt/format.h>

#include "cli/help/option_text.h"
#include "cli/text.h"

namespace nervex::cli {
namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kDescriptionWidth = 70;  // beside CLI11's column of names

std::string first_sentence(const std::string& text) { return text.substr(0, text.find(". ")); }

}  // namespace

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return wrap(app->get_description(), kLineWidth) + "\n";
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  const bool has_verbs = !app->get_subcommands([](const CLI::App*) { return true; }).empty();
  return fmt::format("Usage: {}{}\n", usage(*app, name), has_verbs ? " VERB" : " [flags]");
}

std::string HelpFormatter::make_subcommand(const CLI::App* verb) const {
  std::string text = first_sentence(verb->get_description());
  if (text.ends_with('.')) text.pop_back();
  return fmt::format("  {:<12} {}\n", verb->get_name(), text);
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  return is_positional ? value_name(*option) : option->get_name(false, true);
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  const std::string value = option->get_positional() ? "" : value_name(*option);
  return value.empty() ? "" : " " + value;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return wrap(describe_option(*option), kDescriptionWidth);
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  return wrap(app->get_footer(), kLineWidth) + "\n";
}

}  // namespace nervex::cli
