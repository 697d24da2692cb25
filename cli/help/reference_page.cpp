#include "cli/help/reference_page.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/help/option_text.h"
#include "cli/text.h"

namespace nervex::cli {
namespace {

using Names = std::vector<std::string>;

// Lines that begin with a space are code.
std::string to_markdown(const std::string& text) {
  constexpr std::size_t kWidth = 116;
  constexpr std::size_t kIndent = 2;
  std::istringstream lines(text);
  std::string page;
  bool was_code = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_code = line.starts_with(' ');
    if (is_code && !was_code) page += line.starts_with("  kubectl") ? "\n```sh\n" : "\n```yaml\n";
    if (was_code && !is_code) page += "```\n\n";
    was_code = is_code;
    page += (is_code ? line.substr(kIndent) : wrap(line, kWidth)) + "\n";
  }
  return was_code ? page + "```\n" : page;
}

// The flags that most verbs share, cluster_flags.h.
bool is_common(const CLI::App& verb, const CLI::Option& option) {
  constexpr std::array<std::string_view, 3> kCommon{"kubeconfig", "context", "namespace"};
  const auto& names = option.get_lnames();
  return verb.get_option_no_throw("--context") != nullptr && !names.empty() &&
         std::find(kCommon.begin(), kCommon.end(), names[0]) != kCommon.end();
}

// Markdown reads "|" as the end of a cell, and "<" may begin HTML.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string flag_row(const CLI::Option& option) {
  Names names;
  for (const auto& name : option.get_snames()) names.push_back(fmt::format("`-{}`", name));
  for (const auto& name : option.get_lnames()) names.push_back(fmt::format("`--{}`", name));
  const std::string value = value_name(option);
  return fmt::format("| {}{} | {} |\n", fmt::join(names, ", "),
                     value.empty() ? "" : " " + cell(value), cell(describe_option(option)));
}

std::string flag_table(const CLI::App& verb) {
  std::string rows;
  bool has_common = false;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_positional() || option == verb.get_help_ptr()) continue;
    if (is_common(verb, *option)) {
      has_common = true;
    } else {
      rows += flag_row(*option);
    }
  }
  std::string text;
  if (!rows.empty()) text += "\n| flag | meaning |\n|---|---|\n" + rows;
  if (has_common) text += "\nAlso the [common flags](#common-flags).\n";
  return text;
}

// Examples and exit status, of verb.cpp.
std::string footer(const CLI::App& verb) {
  constexpr std::string_view kExamples = "Examples:\n";
  const std::string text = verb.get_footer();
  const auto end = text.find("\n\n");
  if (!text.starts_with(kExamples) || end == std::string::npos) return "\n" + to_markdown(text);
  std::istringstream lines(text.substr(kExamples.size(), end - kExamples.size()));
  std::string code;
  for (std::string line; std::getline(lines, line);) {
    code += line.substr(line.find_first_not_of(' ')) + "\n";
  }
  return fmt::format("\n```sh\n{}```\n\n{}", code, to_markdown(text.substr(end + 2)));
}

std::string section(const CLI::App& verb, const std::string& name, std::string_view heading) {
  std::string text = fmt::format("{} {}\n\n`kubectl nervex {}`\n\n{}", heading, name,
                                 usage(verb, name), to_markdown(verb.get_description()));
  const auto inner = verb.get_subcommands([](const CLI::App*) { return true; });
  if (inner.empty()) return text + flag_table(verb) + footer(verb) + "\n";
  text += "\n";
  for (const CLI::App* each : inner) {
    text += section(*each, name + " " + each->get_name(), "###");
  }
  return text;
}

}  // namespace

std::string reference_page(const CLI::App& app) {
  std::string page;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    page += section(*verb, verb->get_name(), "##");
  }
  return page;
}

}  // namespace nervex::cli
