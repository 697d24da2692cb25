// cycle_replay RECORDING [flags of nervex-extender]: writes to stdout what the planner decides on a
// recorded cluster (tools/cluster/recording.py), line by line. Two versions that decide alike write
// the same.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <string>

#include "base/log.h"
#include "extender/flags.h"
#include "tests/extender/replay/replay.h"

using namespace nervex;  // NOLINT: main only

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: cycle_replay RECORDING [flags of nervex-extender]\n";
    return 2;
  }
  std::ifstream recording(argv[1]);
  if (!recording) {
    std::cerr << argv[1] << ": cannot be read\n";
    return 1;
  }
  extender::Flags flags;
  argv[1] = argv[0];
  if (const auto code = extender::parse(argc - 1, argv + 1, flags)) return *code;
  set_log_level(LogLevel::kError);
  testing::ReplayOptions options;
  options.cycle = flags.cycle;
  options.plan_expiry = flags.plan_expiry;
  options.node_lost_after = flags.node_lost_after;
  options.node_class_label = flags.node_class_label;
  testing::Replay replay(options, [](std::string_view line) { std::cout << line << '\n'; });
  std::string line;
  for (int number = 1; std::getline(recording, line); ++number) {
    const auto change = testing::parse_recorded(line);
    if (!change) {
      std::cerr << argv[1] << ":" << number << ": " << change.error().message << "\n";
      return 1;
    }
    replay.apply(*change);
  }
  replay.finish();
  std::cerr << replay.cycles() << " cycles\n";
  return 0;
}
