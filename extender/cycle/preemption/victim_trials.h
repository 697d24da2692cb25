// extender/cycle/preemption/victim_trials.h - would a waiting gang fit without these victims? Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "extender/cycle/gang/gang_work.h"
#include "extender/cycle/preemption/running_gangs.h"
#include "queue/facts.h"
#include "queue/preemption.h"

namespace nervex::extender {

// Keeps one ledger, and moves it from one set of victims to the next. Borrows all but the ledger.
class VictimTrials {
 public:
  // `gang` has no placements. `ledger` and `usage` are as if what is ending had ended; the ledger
  // counts for the gang's priority.
  VictimTrials(const queue::Facts& facts, const queue::Usage& usage,
               const queue::Preemptor& preemptor, const GangWork& gang, RunningGangs& running,
               Ledger ledger)
      : facts_(facts),
        usage_(usage),
        preemptor_(preemptor),
        gang_(gang),
        running_(running),
        ledger_(std::move(ledger)) {}

  // queue::FitsWithout, with indices of RunningGangs::candidates(). Cost: a plan of the gang, and
  // what differs from the victims of the last call.
  std::optional<std::vector<std::size_t>> fits_without(std::span<const std::size_t> victims);

  std::vector<PlacedSlot> placed;  // by the last trial that fit
  bool gave_up = false;            // a search of the planner ended at its limit

 private:
  std::set<std::size_t> collect_gangs(std::span<const std::size_t> victims) const;
  void end(const std::set<std::size_t>& ending);
  void change(std::size_t gang, int times);
  bool set_limits(GangWork& trial, const std::set<std::size_t>& ending) const;
  bool is_on(std::size_t victim, const std::set<std::string_view>& nodes);

  const queue::Facts& facts_;
  const queue::Usage& usage_;
  const queue::Preemptor& preemptor_;
  const GangWork& gang_;
  RunningGangs& running_;
  Ledger ledger_;
  std::set<std::size_t> ended_;  // gangs that the ledger is without
};

}  // namespace nervex::extender
