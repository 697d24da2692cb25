#include "cli/verb.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/program.h"

namespace nervex::cli {
namespace {

std::string footer_text(const VerbText& text) {
  std::string footer = text.examples.empty() ? "" : "Examples:\n";
  for (const auto& example : text.examples) footer += fmt::format("  kubectl nervex {}\n", example);
  return footer + fmt::format("\nExit status: {}.", text.exit_codes);
}

// The list of verbs has one sentence for each.
class BriefFormatter final : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* verb) const override {
    const std::string text = verb->get_description();
    const auto end = text.find('.');
    return fmt::format("  {:<12} {}\n", verb->get_name(), text.substr(0, end));
  }
};

}  // namespace

Verbs::Verbs(CLI::App& app) : app_(app) {
  app_.formatter(std::make_shared<BriefFormatter>());
  app_.require_subcommand(1);
}

CLI::App& Verbs::add_command(CLI::App& group, const VerbText& text) {
  CLI::App* command = group.add_subcommand(text.name, text.what);
  command->footer(footer_text(text));
  // As in kubectl: of a repeated flag the last one counts.
  command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return *command;
}

CLI::App& Verbs::add_group(const std::string& name, const std::string& what) {
  CLI::App* group = app_.add_subcommand(name, what);
  group->require_subcommand(1);
  return *group;
}

int Verbs::parse_and_run(int argc, char** argv) {
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
