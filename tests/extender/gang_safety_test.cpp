// Random clusters, gangs, pods of others, faults, kills and stale caches: gangs start as a whole
// and are kept whole, or are requeued; no node is overcommitted.
//
// The rules are in sim/observer.h, judged only by the API server's objects, not by the
// extender's own code. kube-scheduler knows what PodGroups do not name: ports, and volumes that are
// bound late.
//
//   NERVEX_SIM_SEEDS=5000 NERVEX_SIM_FIRST=1 gang_safety_test     many more than the ordinary run
//   NERVEX_SIM_SEED=17 gang_safety_test                           this one alone
#include <catch2/catch_test_macros.hpp>

#include "tests/extender/sim/cluster.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"

namespace nervex::testing {
namespace {

constexpr int kEvents = 400;

SimOptions options_for(unsigned seed) {
  return {.holds_binds = seed % 3 != 0,
          .scheduler_counts = seed % 2 == 0,
          .others_race = seed % 4 == 0,
          .has_kills = seed % 5 < 3,
          .places_directly = seed % 7 < 4};
}

void live(unsigned seed, std::map<std::string, int>& happened) {
  SimCluster cluster(seed, options_for(seed));
  for (int i = 0; i < kEvents && cluster.broken().empty(); ++i) cluster.step();
  if (cluster.broken().empty()) cluster.come_to_rest();
  if (!cluster.broken().empty()) {
    FAIL_CHECK("NERVEX_SIM_SEED=" << seed << ": "
                                  << fmt::format("{}", fmt::join(cluster.broken(), "; "))
                                  << "\nwhat happened last:\n"
                                  << cluster.story());
  }
  for (const auto& [what, times] : cluster.seen()) happened[what] += times;
}

TEST_CASE("gangs start as a whole and no node is overcommitted", "[extender][sim][property]") {
  const Seeds seeds = seeds_to_try(1, cases(100));
  std::map<std::string, int> happened;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) live(seed, happened);
  std::string summary = fmt::format("{} schedules from {} on", seeds.count, seeds.first);
  for (const auto& [what, times] : happened) summary += fmt::format("\n{:>8} {}", times, what);
  if (seeds.is_chosen) WARN(summary);
  INFO(summary);
  // Otherwise the above has tested nothing.
  if (kSanitized || seeds.is_chosen) return;
  for (const char* what : {"claim bound late",
                           "commit rejected",
                           "committed gang taken back",
                           "coordinator bound",
                           "extender killed",
                           "foreign pod",
                           "direct placement ended",
                           "pod created on its node",
                           "coordinator bound after a direct pod",
                           "gang committed",
                           "gang requeued unhealed",
                           "gang runs on",
                           "held in vain",
                           "kubelet rejection",
                           "killed at a request",
                           "node deleted",
                           "node not ready",
                           "placement moved",
                           "pod garbage",
                           "pod on a lost node",
                           "port conflict",
                           "refused: Unschedulable",
                           "request failed",
                           "requests merged",
                           "scheduler killed",
                           "volume elsewhere"}) {
    INFO(what);
    CHECK(happened[what] > 0);
  }
}

}  // namespace
}  // namespace nervex::testing
