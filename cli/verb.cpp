#include "cli/verb.h"

#include <cstdio>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/program.h"
#include "cli/failure.h"
#include "cli/help/formatter.h"
#include "cli/help/unknown_verb.h"

namespace nervex::cli {
namespace {

constexpr const char* kVerbs = "Verbs";  // the title of their list

std::string footer_text(const VerbText& text) {
  std::string footer = text.examples.empty() ? "" : "Examples:\n";
  for (const auto& example : text.examples) footer += fmt::format("  kubectl nervex {}\n", example);
  footer += fmt::format("\nExit status: {}.", text.exit_codes);
  return text.more.empty() ? footer : footer + "\n\n" + text.more;
}

}  // namespace

Verbs::Verbs(CLI::App& app) : app_(app) {
  app_.formatter(std::make_shared<HelpFormatter>());
  app_.require_subcommand(1);
}

CLI::App& Verbs::add_command(CLI::App& group, const VerbText& text) {
  CLI::App* command = group.add_subcommand(text.name, text.what);
  command->group(kVerbs);
  command->footer(footer_text(text));
  // As in kubectl: of a repeated flag the last one counts.
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return *command;
}

CLI::App& Verbs::add_group(const std::string& name, const std::string& what) {
  CLI::App* group = app_.add_subcommand(name, what);
  group->group(kVerbs);
  group->require_subcommand(1);
  return *group;
}

int Verbs::parse_and_run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (const std::string unknown = describe_unknown_verb(app_, words); !unknown.empty()) {
    note(unknown);
    note(app_.get_name() + " --help lists the verbs");
    return kExitUsage;
  }
  if (words.empty()) {
    std::fputs(app_.help().c_str(), stderr);
    return kExitUsage;
  }
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_.exit(error) == 0 ? kExitOk : kExitUsage;  // CLI11 has its own code for each error
  }
  for (const auto& verb : verbs_) {
    if (verb->command->parsed()) return verb->run();
  }
  return kExitUsage;
}

}  // namespace nervex::cli
