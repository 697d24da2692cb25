// Random traces of a small cluster: do gangs that wait start when their reservations say, and what
// does that cost? Compared with two schedulers without reservations: one that starts all that fits,
// and one whose head blocks everything behind it. Leaders end between any two writes; what a new
// one knows is in the stored statuses. In half of the traces, each with an even chance: there are
// queues that preempt, jobs grow, become preemptible or are not any more, nodes are lost, clocks of
// leaders differ, jobs are bound late.
//
//   NERVEX_SIM_SEEDS=5000 cycle_simulation_test "[reservation][property]"
//   NERVEX_SIM_SEED=17 cycle_simulation_test "[reservation][property]"
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

#include "tests/planner/reservation/simulation/life.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"

namespace nervex::testing {
namespace {

using queue::PreemptionMode;

struct Figures {
  std::map<std::string, int> happened;
  std::vector<double> to_greedy;    // utilization, as a part of the greedy scheduler's
  std::vector<double> to_blocking;  // the same for the one whose head blocks
  double longest_wait = 0;
  double longest_greedy_wait = 0;
};

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double least(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}
double most(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

Figures compare(const Seeds& seeds) {
  Figures figures;
  for (unsigned seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const Habits habits = habits_of(seed);
    ReservationLife life(seed, habits, Scheduler::kReserving, ReservationFault::kNone);
    life.run();
    if (!life.broken().empty()) {
      FAIL_CHECK("NERVEX_SIM_SEED=" << seed << ": "
                                    << fmt::format("{}", fmt::join(life.broken(), "; ")));
    }
    for (const auto& [what, times] : life.happened()) figures.happened[what] += times;
    if (!habits.is_comparable()) continue;
    ReservationLife greedy(seed, habits, Scheduler::kGreedy, ReservationFault::kNone);
    greedy.run();
    ReservationLife blocking(seed, habits, Scheduler::kBlocking, ReservationFault::kNone);
    blocking.run();
    figures.to_greedy.push_back(life.utilization() / greedy.utilization());
    figures.to_blocking.push_back(life.utilization() / blocking.utilization());
    figures.longest_wait = std::max(figures.longest_wait, life.longest_wait);
    figures.longest_greedy_wait = std::max(figures.longest_greedy_wait, greedy.longest_wait);
  }
  return figures;
}

TEST_CASE("gangs with a reservation start in time, and little is lost by it",
          "[extender][reservation][property]") {
  const Seeds seeds = kSanitized ? seeds_to_try(6, 2) : seeds_to_try(1, 40);
  const Figures figures = compare(seeds);
  std::string summary = fmt::format(
      "{} traces: utilization {:.3f} of greedy ({:.3f} to {:.3f}), {:.3f} of blocking; longest "
      "wait {:.0f} s, greedy {:.0f} s",
      seeds.count, mean(figures.to_greedy), least(figures.to_greedy), most(figures.to_greedy),
      mean(figures.to_blocking), figures.longest_wait, figures.longest_greedy_wait);
  for (const auto& [what, times] : figures.happened) {
    summary += fmt::format("\n{:>8} {}", times, what);
  }
  if (seeds.is_chosen) WARN(summary);
  INFO(summary);
  if (seeds.count < 40) return;
  CHECK(mean(figures.to_greedy) >= 0.95);
  CHECK(mean(figures.to_blocking) > 1.0);
  for (const char* what :
       {"deadline raised", "gang preempted by priority", "gang reclaimed for a quota",
        "gang reclaimed for a reservation", "job bound", "job requeued",
        "leader ended between two writes", "node cordoned", "node lost", "not preemptible any more",
        "preemptible from now on", "queue held", "request added", "request bound", "reservation",
        "reservation of a request", "reservation without a bound",
        "reserved nodes taken by an earlier gang", "start of a reserving gang"}) {
    INFO(what);
    CHECK(figures.happened.count(what) == 1);
  }
}

TEST_CASE("a scheduler that breaks a rule of reservations is caught",
          "[extender][reservation][property]") {
  if (kSanitized) SKIP("what a fault leads to does not depend on sanitizers, and takes minutes");
  struct Row {
    std::string when;
    ReservationFault fault = ReservationFault::kNone;
    Habits habits{};
  };
  const Row row = GENERATE(values<Row>({
      {"it forgets reservations", ReservationFault::kForgetsReservations, {}},
      {"it lets others end later", ReservationFault::kStretchesDue, {}},
      {"it reclaims nothing", ReservationFault::kNeverReclaims, {}},
      {"it reclaims what is served earlier", ReservationFault::kReclaimsEarlier, {}},
      {"it reclaims what is not preemptible", ReservationFault::kReclaimsAny, {}},
      {"it believes in the first deadline",
       ReservationFault::kIgnoresRaises,
       {.some_raise_them = true}},
      {"it believes in the first `preemptible`",
       ReservationFault::kIgnoresPreemptible,
       {.some_change_preemptible = true, .some_bind_late = true}},
      {"a running job is not preemptible any more",
       ReservationFault::kForgetsPreemptible,
       {.some_change_preemptible = true}},
      {"it believes that requests end at once",
       ReservationFault::kShortensRequests,
       {.some_grow = true}},
      {"it does not see that queues are held",
       ReservationFault::kIgnoresHolds,
       {.have_queues = true}},
      {"it preempts in queues although it may only reclaim",
       ReservationFault::kPreemptsInQueue,
       {.have_queues = true, .mode = PreemptionMode::kReclaim}},
      {"it plans on lost nodes", ReservationFault::kPlansOnLostNodes, {.nodes_fail = true}},
      {"leaders are an hour ahead", ReservationFault::kHasWrongClock, {.clocks_differ = true}},
  }));
  INFO(row.when);
  bool is_caught = false;
  for (unsigned seed = 1; seed <= 200 && !is_caught; ++seed) {
    ReservationLife life(seed, row.habits, Scheduler::kReserving, row.fault);
    life.run();
    is_caught = !life.broken().empty();
    if (!is_caught) continue;
    INFO("seed " << seed << ": " << life.broken()[0]);
    ReservationLife faultless(seed, row.habits, Scheduler::kReserving, ReservationFault::kNone);
    faultless.run();
    CHECK(faultless.broken().empty());
  }
  CHECK(is_caught);
}

}  // namespace
}  // namespace nervex::testing
