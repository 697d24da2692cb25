#include "extender/flags.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::extender {
namespace {

TEST_CASE("beyond loopback the extender wants a certificate and an authority for its callers",
          "[extender][flags]") {
  const std::string cert = "--tls-cert-file=/c";
  const std::string key = "--tls-key-file=/k";
  const std::string ca = "--client-ca-file=/ca";
  struct Row {
    std::string when;
    std::vector<std::string> flags;
    std::optional<int> exit_code;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"nothing is given", {}, std::nullopt},
      {"it is another address of loopback", {"--listen=127.0.0.2:1"}, std::nullopt},
      {"it is loopback of IPv6", {"--listen=[::1]:1"}, std::nullopt},
      {"it is loopback by name", {"--listen=localhost:1"}, std::nullopt},
      {"it is loopback, with TLS", {cert, key}, std::nullopt},
      {"it is all addresses", {"--listen=:9080"}, kExitUsage},
      {"it is all addresses in digits", {"--listen=0.0.0.0:9080"}, kExitUsage},
      {"it is an address of the pod", {"--listen=10.0.0.1:9080"}, kExitUsage},
      {"it is a name", {"--listen=node:9080"}, kExitUsage},
      {"callers need no certificate", {"--listen=:9080", cert, key}, kExitUsage},
      {"callers need a certificate", {"--listen=:9080", cert, key, ca}, std::nullopt},
      {"the key is missing", {cert}, kExitUsage},
      {"the certificate is missing", {key}, kExitUsage},
      {"there is only an authority", {ca}, kExitUsage},
  }));
  INFO("when " << row.when);
  std::vector<std::string> words{"nervex-extender"};
  words.insert(words.end(), row.flags.begin(), row.flags.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Flags flags;
  CHECK(parse(static_cast<int>(argv.size()), argv.data(), flags) == row.exit_code);
}

TEST_CASE("nothing is reserved unless the flag says so", "[extender][flags]") {
  struct Row {
    std::string flag;
    std::optional<int> exit_code;
    bool is_on;
  };
  const auto row = GENERATE(values<Row>({
      {"--log-level=info", std::nullopt, false},
      {"--reserve-after=5m", std::nullopt, true},
      {"--reserve-after=0", std::nullopt, false},
      {"--reserve-after=soon", kExitUsage, false},
      {"--reservations=4", std::nullopt, false},
      {"--reservations=-1", kExitUsage, false},
  }));
  INFO(row.flag);
  std::string program = "nervex-extender";
  std::string word = row.flag;
  std::vector<char*> argv{program.data(), word.data()};
  Flags flags;
  CHECK(parse(static_cast<int>(argv.size()), argv.data(), flags) == row.exit_code);
  CHECK(flags.cycle.reservation.is_on() == row.is_on);
}

TEST_CASE("nothing is preempted unless the flag says so", "[extender][flags]") {
  using queue::PreemptionMode;
  struct Row {
    std::string flag;
    std::optional<int> exit_code;
    PreemptionMode mode;
  };
  const auto row = GENERATE(values<Row>({
      {"--log-level=info", std::nullopt, PreemptionMode::kOff},
      {"--preemption=off", std::nullopt, PreemptionMode::kOff},
      {"--preemption=reclaim", std::nullopt, PreemptionMode::kReclaim},
      {"--preemption=full", std::nullopt, PreemptionMode::kFull},
      {"--preemption=on", kExitUsage, PreemptionMode::kOff},
  }));
  INFO(row.flag);
  std::string program = "nervex-extender";
  std::string word = row.flag;
  std::vector<char*> argv{program.data(), word.data()};
  Flags flags;
  CHECK(parse(static_cast<int>(argv.size()), argv.data(), flags) == row.exit_code);
  CHECK(flags.cycle.preemption == row.mode);
}

TEST_CASE("pods are given time to be bound", "[extender][flags]") {
  const auto [flag, exit_code] = GENERATE(table<std::string, std::optional<int>>({
      {"--bind-deadline=0", kExitUsage},
      {"--bind-deadline=1s", std::nullopt},
  }));
  INFO(flag);
  std::string program = "nervex-extender";
  std::string word = flag;
  std::vector<char*> argv{program.data(), word.data()};
  Flags flags;
  CHECK(parse(static_cast<int>(argv.size()), argv.data(), flags) == exit_code);
}

// The coordinator is bound last, whether or not the binds of its gang are held.
TEST_CASE("a coordinator's bind can be held although binds of gangs are not",
          "[extender][flags][hold]") {
  const auto largest = GENERATE(values<std::string>({"0", "1", "1000"}));
  INFO("--hold-binds-up-to=" << largest);
  std::string program = "nervex-extender";
  std::string flag = "--hold-binds-up-to=" + largest;
  std::vector<char*> argv{program.data(), flag.data()};
  Flags flags;
  REQUIRE(parse(static_cast<int>(argv.size()), argv.data(), flags) == std::nullopt);
  CHECK(flags.holds.largest_gang == std::stoul(largest));
  CHECK(flags.holds.most_calls >= 500);
  CHECK(flags.holds.most_calls >= 4 * flags.holds.largest_gang);
}

}  // namespace
}  // namespace nervex::extender
