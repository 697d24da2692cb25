// tests/planner/leaders.h - leaders of the extender, one after the other. Each may end
// between two of its writes, and the next one knows only what is stored.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "planner/scheduling_cycle.h"
#include "tests/queue/builders.h"
#include "tests/support/journal.h"

namespace nervex::testing {

class Leaders {
 public:
  explicit Leaders(std::mt19937& rng) : rng_(rng) {}

  // In random order, what is written of a cycle's decisions. `ends`: the leader ends meanwhile.
  planner::CycleResult run(const planner::Snapshot& snapshot, SysTime now, bool ends) {
    state_.waiting.gain_all();
    planner::CycleResult result =
        planner::run_cycle(snapshot, std::move(state_), now, {{}, mode, reservation});
    state_ = std::move(result.state);
    note(result);
    std::shuffle(result.writes.begin(), result.writes.end(), rng_);
    is_cut = ends && !result.writes.empty();
    if (!ends) return result;
    if (is_cut) result.writes.resize(below(rng_, static_cast<unsigned>(result.writes.size())));
    result.queues.clear();
    forget();
    return result;
  }
  // Another leader follows.
  void forget() { state_ = {}; }

  queue::PreemptionMode mode = queue::PreemptionMode::kOff;
  queue::ReservationOptions reservation{};
  bool is_cut = false;  // of the last cycle not all was written

 private:
  static void note(const planner::CycleResult& result) {
    journal(fmt::format("-- cycle: {} planned, next in {} ms", result.planned,
                        result.look_again ? result.look_again->count() : -1));
    for (const auto& [group, status] : result.writes) {
      journal(group->meta.name + " " + gang::encode_status(status).dump());
    }
  }

  std::mt19937& rng_;
  planner::CycleState state_;
};

}  // namespace nervex::testing
