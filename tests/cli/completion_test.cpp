#include "cli/help/complete.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <CLI/CLI.hpp>

namespace nervex::cli {
namespace {

using Words = std::vector<std::string>;
using More = Completion::More;

// A program with verbs like ours.
struct SmallProgram {
  SmallProgram() {
    CLI::App* list = app.add_subcommand("list");
    list->add_flag("-A,--all-namespaces", all);
    list->add_option("--sort", text)->check(CLI::IsMember({"age", "name"}))->type_name("COLUMN");
    list->add_option("-n,--namespace", text)->type_name("NAME");
    CLI::App* logs = app.add_subcommand("logs");
    logs->add_option("job", text)->type_name("JOB");
    logs->add_option("pods", text)->type_name("ROLE[/ORDINAL]");
    logs->add_option("-f,--filename", text)->type_name("FILE");
    logs->add_option("-n,--namespace", text)->type_name("NAME");
    CLI::App* stop = app.add_subcommand("stop");
    stop->add_option("jobs", names)->type_name("JOB");
    CLI::App* replicas = app.add_subcommand("replicas");
    replicas->add_subcommand("add");
    replicas->add_subcommand("get");
  }
  CLI::App app;
  bool all = false;
  std::string text;
  Words names;
};

TEST_CASE("the next word follows from the words before it", "[cli][completion]") {
  struct Row {
    Words typed;
    Completion want;
  };
  const auto row = GENERATE(values<Row>({
      {{""}, {{"list", "logs", "replicas", "stop"}, More::kNothing}},
      {{"l"}, {{"list", "logs"}, More::kNothing}},
      {{"replicas", ""}, {{"add", "get"}, More::kNothing}},
      {{"list", "--"}, {{"--all-namespaces", "--help", "--namespace", "--sort"}, More::kNothing}},
      {{"list", "-A", "--s"}, {{"--sort"}, More::kNothing}},
      {{"list", "--sort", ""}, {{"age", "name"}, More::kNothing}},
      {{"list", "--sort=a"}, {{"--sort=age"}, More::kNothing}},
      {{"list", "--sort", "=", "a"}, {{"age"}, More::kNothing}},  // as bash splits it
      {{"list", "--sort", "age", "--n"}, {{"--namespace"}, More::kNothing}},
      {{"list", "-n", ""}, {{}, More::kNamespaces}},
      {{"list", ""}, {{}, More::kNothing}},
      {{"logs", ""}, {{}, More::kJobs}},
      {{"logs", "-n", "rl", ""}, {{}, More::kJobs}},
      {{"logs", "dqn", "le"}, {{"learner"}, More::kNothing}},
      {{"logs", "dqn", "learner", ""}, {{}, More::kNothing}},
      {{"logs", "-f", ""}, {{}, More::kFiles}},
      {{"stop", "dqn", "ppo", ""}, {{}, More::kJobs}},
      {{"unknown", ""}, {{"list", "logs", "replicas", "stop"}, More::kNothing}},
      {{}, {{"list", "logs", "replicas", "stop"}, More::kNothing}},
  }));
  INFO(row.typed.size() << " words, the last " << (row.typed.empty() ? "" : row.typed.back()));
  const SmallProgram program;
  CHECK(complete(program.app, row.typed).words == row.want.words);
  CHECK(complete(program.app, row.typed).more == row.want.more);
}

TEST_CASE("names are read from the cluster that was typed", "[cli][completion]") {
  CHECK(typed_value({"logs", "-n", "rl", ""}, "--namespace", "-n") == "rl");
  CHECK(typed_value({"logs", "--namespace=rl", ""}, "--namespace", "-n") == "rl");
  CHECK(typed_value({"logs", "--namespace", "=", "rl", ""}, "--namespace", "-n") == "rl");
  CHECK(typed_value({"logs", "-n", "r"}, "--namespace", "-n").empty());  // still being typed
  CHECK(typed_value({"logs", ""}, "--namespace", "-n").empty());
}

TEST_CASE("each shell has its script", "[cli][completion]") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CHECK(completion_script(shell).find("nervexctl __complete") != std::string::npos);
  }
}

}  // namespace
}  // namespace nervex::cli
