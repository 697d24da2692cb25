#include "cli/help/unknown_verb.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/text.h"

namespace nervex::cli {
namespace {

struct OtherWord {
  std::string_view word;
  std::string_view meant;
};

// Words of kubectl, Slurm and other batch systems.
constexpr std::array kOtherWords = std::to_array<OtherWord>({
    {"apply", "submit"},
    {"cancel", "suspend or delete"},
    {"create", "submit"},
    {"describe", "explain"},
    {"get", "list"},
    {"help", "--help"},
    {"info", "explain"},
    {"kill", "suspend or delete"},
    {"log", "logs"},
    {"ls", "list"},
    {"pause", "suspend"},
    {"ps", "list"},
    {"rm", "delete"},
    {"run", "submit"},
    {"start", "submit or resume"},
    {"status", "list or explain"},
    {"stop", "suspend or delete"},
    {"why", "explain"},
});

std::vector<std::string> list_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

std::string find_meant(const CLI::App& app, const std::string& word) {
  const auto verbs = list_verbs(app);
  const auto* other = std::find_if(kOtherWords.begin(), kOtherWords.end(),
                                   [&](const OtherWord& each) { return each.word == word; });
  // Words of the whole program mean nothing to a verb that has verbs.
  if (app.get_parent() == nullptr && other != kOtherWords.end()) return std::string(other->meant);
  return closest_name(word, verbs);
}

// Before any verb there are few flags; all others follow the verb that they are of.
std::string describe_unknown_flag(const CLI::App& app, const std::string& flag) {
  if (app.get_option_no_throw(flag) != nullptr) return "";
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const std::string meant = closest_name(flag, known);
  return fmt::format("{} is not a flag without a verb: {}", flag,
                     meant.empty() ? "flags follow the verb" : "did you mean " + meant + "?");
}

}  // namespace

std::string describe_unknown_verb(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (const auto& word : words) {
    const auto verbs = list_verbs(*at);
    if (verbs.empty()) return "";
    if (word.starts_with('-')) return at == &app ? describe_unknown_flag(app, word) : "";
    if (std::find(verbs.begin(), verbs.end(), word) == verbs.end()) {
      const std::string meant = find_meant(*at, word);
      return fmt::format("{} is not a verb{}", word,
                         meant.empty() ? "" : fmt::format(": did you mean {}?", meant));
    }
    at = at->get_subcommand(word);
  }
  const bool lacks_verb = at != &app && !list_verbs(*at).empty();
  return lacks_verb
             ? fmt::format("{} needs a verb: {}", at->get_name(), fmt::join(list_verbs(*at), ", "))
             : "";
}

}  // namespace nervex::cli
