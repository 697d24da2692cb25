// cli/help/formatter.h - what does --help look like?
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace nervex::cli {

// Lines of at most 100 columns. The list of verbs has the first sentence of each.
class HelpFormatter final : public CLI::Formatter {
 protected:
  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace nervex::cli
