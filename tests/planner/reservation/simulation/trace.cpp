#include "tests/planner/reservation/simulation/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/planner/stored_cluster.h"

namespace nervex::testing {
namespace {

constexpr int kJobs = 100;

}  // namespace

Habits habits_of(unsigned seed) {
  Habits habits{.all_set_deadlines = seed % 2 == 0, .some_raise_them = seed % 4 >= 2};
  if (seed / 4 % 2 == 0) return habits;
  std::mt19937 rng(seed + 2'000'000);
  const auto is_one = [&] { return below(rng, 2) == 0; };
  habits.some_change_preemptible = is_one();
  habits.some_grow = is_one();
  habits.have_queues = is_one();
  habits.nodes_fail = is_one();
  habits.clocks_differ = is_one();
  constexpr queue::PreemptionMode kModes[] = {
      queue::PreemptionMode::kOff, queue::PreemptionMode::kReclaim, queue::PreemptionMode::kFull};
  if (habits.have_queues) habits.mode = kModes[below(rng, 3)];
  habits.some_bind_late = is_one();
  habits.writes_time_out = is_one();
  return habits;
}

std::vector<TraceJob> make_trace(unsigned seed, const Habits& habits) {
  std::mt19937 rng(seed);
  std::vector<TraceJob> jobs;
  double at = 0;
  std::lognormal_distribution<double> run_time(std::log(300.0), 1.0);
  std::exponential_distribution<double> pause(1.0 / 60.0);
  for (int i = 0; i < kJobs; ++i) {
    TraceJob job;
    job.name = fmt::format("job{:03}", i);
    const unsigned kind = below(rng, 20);
    job.gpus = kind < 6 ? 1 : kind < 9 ? 2 : kind < 12 ? 4 : 8;
    job.pods = kind < 15 ? 1 : kind < 18 ? 2 : kind < 19 ? 4 : 6;
    at += pause(rng);
    job.arrives = static_cast<int>(at);
    job.runs = std::clamp(static_cast<int>(run_time(rng)), 20, 3'000);
    const bool is_bounded = habits.all_set_deadlines || below(rng, 3) > 0;
    if (is_bounded) job.deadline = job.runs + static_cast<int>(below(rng, 600));
    job.is_preemptible = below(rng, 5) == 0;
    const auto in_its_run = [&] {
      return static_cast<int>(below(rng, static_cast<unsigned>(job.runs)));
    };
    const bool raises = below(rng, 25) == 0 && is_bounded && habits.some_raise_them;
    if (raises) job.raises_after = below(rng, 2) == 0 ? 0 : in_its_run();
    if (habits.some_grow && below(rng, 4) == 0) job.grows_after = in_its_run();
    if (habits.some_change_preemptible && below(rng, 4) == 0) {
      job.changes_preemptible_after = in_its_run();
    }
    if (habits.some_bind_late && below(rng, 2) == 0) {
      job.binds_after = static_cast<int>(below(rng, 150));
    }
    if (habits.have_queues) {
      job.queue = std::string(1, static_cast<char>('a' + below(rng, 3)));
      job.priority = static_cast<int>(below(rng, 3));
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<queue::Queue> make_trace_queues() {
  std::vector<queue::Queue> queues{a_taking_queue(with_quota(a_queue("a"), 24)),
                                   a_taking_queue(with_quota(a_queue("b"), 16)),
                                   a_taking_queue(with_limit(a_queue("c"), 48))};
  for (queue::Queue& one : queues) one.reclaim = queue::Queue::Reclaim::kLowerPriority;
  queues[0].reclaim = queue::Queue::Reclaim::kAny;
  return queues;
}

}  // namespace nervex::testing
