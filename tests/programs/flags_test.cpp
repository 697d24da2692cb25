// The real programs' messages about their flags.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <fmt/format.h>

#include "tests/programs/running.h"

namespace nervex::testing {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("every program prints its version", "[programs][flags]") {
  const std::string name = GENERATE(from_range(kPrograms));
  const Output output = run_program(name, {"--version"});
  CHECK(output.exit_code == 0);
  CHECK(output.text == fmt::format("nervex-{} {}\n", name, NERVEX_VERSION));
}

TEST_CASE("every program's help is complete", "[programs][flags]") {
  const std::string name = GENERATE(from_range(kPrograms));
  const Output output = run_program(name, {"--help"});
  CHECK(output.exit_code == 0);
  INFO(output.text);
  std::vector<std::string> parts{"NERVEX_KUBECONFIG",
                                 "--metrics-listen HOST:PORT=0.0.0.0:8081",
                                 "NERVEX_METRICS_LISTEN",
                                 "--shutdown-delay DURATION=0s",
                                 "NERVEX_SHUTDOWN_DELAY",
                                 "NERVEX_LOG_LEVEL",
                                 "NERVEX_LOG_FORMAT",
                                 "Exit codes",
                                 fmt::format("Example\n  nervex-{}", name)};
  if (name == "controller" || name == "extender") {
    parts.insert(
        parts.end(),
        {"--leader-elect=true", "NERVEX_LEADER_ELECT)",
         "--leader-elect-lease-duration DURATION=15s", "NERVEX_LEADER_ELECT_LEASE_DURATION",
         "--leader-elect-renew-deadline DURATION=10s", "--leader-elect-retry-period DURATION=2s",
         "--leader-elect-resource-namespace NAME=nervex-system"});
  }
  for (const auto& part : parts) {
    INFO("part " << part);
    CHECK(has(output.text, part));
  }
  CHECK(has(output.text, "--listen") == (name != "controller"));
}

TEST_CASE("unknown flags are usage errors", "[programs][flags]") {
  const std::string name = GENERATE(from_range(kPrograms));
  const std::string wrong = GENERATE("--no-such-flag", "argument", "--shutdown-delay=soon");
  const Output output = run_program(name, {wrong});
  CHECK(output.exit_code == 2);
  CHECK(has(output.text, wrong.substr(0, 9)));
}

TEST_CASE("leader election is set by flag or environment, and must make sense",
          "[programs][flags]") {
  struct Row {
    std::string when;
    std::vector<std::string> flags, environment;
    int exit_code;  // 1: as far as the kubeconfig, which is not there
  };
  const std::string name = GENERATE("controller", "extender");
  const auto row = GENERATE(values<Row>({
      {"nothing is set", {}, {}, 1},
      {"it is off", {"--leader-elect=false"}, {}, 1},
      {"it is on", {"--leader-elect"}, {}, 1},
      {"durations fit",
       {"--leader-elect-lease-duration=2s", "--leader-elect-renew-deadline=1.5s",
        "--leader-elect-retry-period=500ms"},
       {},
       1},
      {"durations do not fit", {"--leader-elect-lease-duration=10s"}, {}, 2},
      {"durations of the environment do not fit", {}, {"NERVEX_LEADER_ELECT_RETRY_PERIOD=9s"}, 2},
      {"they do not matter",
       {},
       {"NERVEX_LEADER_ELECT_RETRY_PERIOD=9s", "NERVEX_LEADER_ELECT=false"},
       1},
      {"the command line wins",
       {"--leader-elect=true"},
       {"NERVEX_LEADER_ELECT_RETRY_PERIOD=9s", "NERVEX_LEADER_ELECT=false"},
       2},
      {"the flag is no boolean", {"--leader-elect=perhaps"}, {}, 2},
      {"the variable is no boolean", {}, {"NERVEX_LEADER_ELECT=perhaps"}, 2},
  }));
  INFO(name << " when " << row.when);
  auto flags = row.flags;
  flags.insert(flags.end(), {"--kubeconfig", "/no/such/file"});
  const Output output = run_program(name, flags, row.environment);
  INFO(output.text);
  CHECK(output.exit_code == row.exit_code);
}

TEST_CASE("topology levels are node labels", "[programs][flags]") {
  const std::string program = GENERATE("webhook", "extender");
  CHECK(has(run_program(program, {"--help"}).text,
            "--topology-levels LIST=topology.kubernetes.io/zone,kubernetes.io/hostname"));
  struct Row {
    std::vector<std::string> flags, environment;
    int exit_code;  // 1: as far as the kubeconfig, which does not exist
    std::string said;
  };
  const auto row = GENERATE(values<Row>({
      {{"--topology-levels=topology.kubernetes.io/zone,example.com/rack"}, {}, 1, ""},
      {{}, {"NERVEX_TOPOLOGY_LEVELS=rack"}, 1, ""},
      {{}, {"NERVEX_TOPOLOGY_LEVELS=the rack"}, 2, "\"the rack\" is not a label key"},
      {{"--topology-levels=zone,zone"}, {}, 2, "zone is named twice"},
      {{"--topology-levels=zone,"}, {}, 2, "\"\" is not a label key"},
  }));
  auto flags = row.flags;
  flags.insert(flags.end(), {"--kubeconfig", "/no/such/file"});
  const Output output = run_program(program, flags, row.environment);
  INFO(program << ": " << output.text);
  CHECK(output.exit_code == row.exit_code);
  CHECK(has(output.text, row.said));
}

}  // namespace
}  // namespace nervex::testing
