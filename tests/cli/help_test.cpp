#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <CLI/CLI.hpp>

#include "cli/help/formatter.h"
#include "cli/help/unknown_verb.h"

namespace nervex::cli {
namespace {

// A program with verbs like ours.
struct ProgramWithHelp {
  ProgramWithHelp() {
    app.formatter(std::make_shared<HelpFormatter>());
    app.set_version_flag("--version", "1");
    CLI::App* top = app.add_subcommand(
        "top", "Shows resources such as nvidia.com/gpu. What is hidden is left out.");
    top->add_option("job", text, "name of the job")->required()->type_name("JOB");
    top->add_option("--sort", text, "order")
        ->check(CLI::IsMember({"age", "name"}))
        ->type_name("COLUMN")
        ->default_str("name");
    app.add_subcommand("delete", "Deletes jobs.");
    app.add_subcommand("replicas", "Changes replicas.")->add_subcommand("add", "Adds replicas.");
  }
  CLI::App app{"A program.", "nervexctl"};
  std::string text;
};

TEST_CASE("the list of verbs has the first sentence of each", "[cli][help]") {
  const std::string help = ProgramWithHelp().app.help();
  CHECK(help.find("Usage: nervexctl VERB\n") != std::string::npos);
  CHECK(help.find("  top          Shows resources such as nvidia.com/gpu\n") != std::string::npos);
  CHECK(help.find("  delete       Deletes jobs\n") != std::string::npos);
}

TEST_CASE("the help of a verb names arguments, values and defaults", "[cli][help]") {
  const ProgramWithHelp program;
  const std::string help = program.app.get_subcommand("top")->help("nervexctl");
  CHECK(help.find("Usage: nervexctl top JOB [flags]\n") != std::string::npos);
  CHECK(help.find("  JOB                         name of the job\n") != std::string::npos);
  CHECK(help.find("  --sort COLUMN               order: age, name (default: name)\n") !=
        std::string::npos);
}

TEST_CASE("an unknown verb is named, with what may have been meant", "[cli][help]") {
  struct Row {
    std::vector<std::string> words;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {{"delete", "dqn"}, ""},
      {{"delte", "dqn"}, "delte is not a verb: did you mean delete?"},
      {{"stop", "dqn"}, "stop is not a verb: did you mean suspend or delete?"},
      {{"frobnicate"}, "frobnicate is not a verb"},
      {{"replicas", "ad"}, "ad is not a verb: did you mean add?"},
      {{"replicas", "stop"}, "stop is not a verb"},
      {{"replicas"}, "replicas needs a verb: add"},
      {{"replicas", "--help"}, ""},
      {{"--help"}, ""},
      {{"--version"}, ""},
      {{"--hlep"}, "--hlep is not a flag without a verb: did you mean --help?"},
      {{"-n", "default", "top"}, "-n is not a flag without a verb: flags follow the verb"},
      {{}, ""},
  }));
  CHECK(describe_unknown_verb(ProgramWithHelp().app, row.words) == row.want);
}

}  // namespace
}  // namespace nervex::cli
