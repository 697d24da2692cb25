#include "cli/help/reference_page.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace nervex::cli {
namespace {

using Names = std::vector<std::string>;

// Broken at spaces; lines of the text that begin with a space are code and stay whole.
std::string wrap(const std::string& text) {
  constexpr std::size_t kWidth = 116;
  std::istringstream lines(text);
  std::string wrapped;
  bool was_code = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_code = line.starts_with(' ');
    if (is_code != was_code) wrapped += is_code ? "\n```sh\n" : "```\n";
    was_code = is_code;
    if (is_code) {
      wrapped += line.substr(line.find_first_not_of(' ')) + "\n";
      continue;
    }
    std::istringstream words(line);
    std::size_t width = 0;
    for (std::string word; words >> word;) {
      const bool fits = width + word.size() + 1 <= kWidth;
      if (width > 0) wrapped += fits ? " " : "\n";
      width = fits ? width + word.size() + 1 : word.size();
      wrapped += word;
    }
    wrapped += "\n";
  }
  return was_code ? wrapped + "```\n" : wrapped;
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

// "FORMAT:{json,yaml}" without the values.
std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return option.get_items_expected_max() == 0 ? "" : type.substr(0, type.find(':'));
}

std::string values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto from = type.find('{');
  if (from == std::string::npos) return "";
  std::string text = type.substr(from + 1, type.rfind('}') - from - 1);
  for (auto at = text.find(','); at != std::string::npos; at = text.find(',', at + 2)) {
    text.insert(at + 1, " ");
  }
  return text;
}

std::string flag_row(const CLI::Option& option) {
  Names names;
  for (const auto& name : option.get_snames()) names.push_back(fmt::format("`-{}`", name));
  for (const auto& name : option.get_lnames()) names.push_back(fmt::format("`--{}`", name));
  std::string text = option.get_description();
  if (const std::string listed = values(option); !listed.empty()) text += ": " + listed;
  if (!option.get_default_str().empty())
    text += fmt::format(" (default: {})", option.get_default_str());
  if (!option.get_envname().empty()) text += fmt::format(" (or `{}`)", option.get_envname());
  const std::string value = value_name(option);
  return fmt::format("| {}{} | {} |\n", fmt::join(names, ", "),
                     value.empty() ? "" : " " + cell(value), cell(text));
}

// "explain JOB", "submit -f FILE"
std::string usage(const CLI::App& verb, const std::string& name) {
  std::string text = name;
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
  if (!text.starts_with(kExamples) || end == std::string::npos) return "\n" + wrap(text);
  std::istringstream lines(text.substr(kExamples.size(), end - kExamples.size()));
  std::string code;
  for (std::string line; std::getline(lines, line);) {
    code += line.substr(line.find_first_not_of(' ')) + "\n";
  }
  return fmt::format("\n```sh\n{}```\n\n{}", code, wrap(text.substr(end + 2)));
}

std::string section(const CLI::App& verb, const std::string& name, std::string_view heading) {
  std::string text = fmt::format("{} {}\n\n`kubectl nervex {}`\n\n{}", heading, name,
                                 usage(verb, name), wrap(verb.get_description()));
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
