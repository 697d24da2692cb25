// planner/preemption/victim_trials.h - would a waiting gang fit without these victims? Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/gang/gang_work.h"
#include "planner/steps/start_waiting.h"
#include "planner/work/after_ending.h"
#include "queue/facts.h"
#include "queue/preemption.h"

namespace nervex::planner {

// Keeps one ledger, and moves it from one set of victims to the next. Borrows facts, usage and
// running gangs.
class VictimTrials {
 public:
  // `gang` has no placements. `ledger` and `usage` are as if what is ending had ended; the ledger
  // counts for the gang's priority.
  VictimTrials(const queue::Facts& facts, const queue::Usage& usage,
               const queue::Preemptor& preemptor, GangWork gang, RunningGangs& running,
               Ledger ledger)
      : facts_(facts),
        usage_(usage),
        preemptor_(preemptor),
        gang_(std::move(gang)),
        running_(running),
        ledger_(std::move(ledger)) {}

  // From now on the gang may use these nodes alone. Cost: all nodes.
  void keep_to(const std::function<bool(std::string_view node)>& is_one);
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
  const queue::Preemptor preemptor_;
  const GangWork gang_;
  RunningGangs& running_;
  Ledger ledger_;
  std::set<std::size_t> ended_;  // gangs that the ledger is without
};

// Trials of the gang, as if it had no nodes. The nodes of the reservations `closed` are not for it.
VictimTrials make_trials(AfterEnding& after, const queue::Facts& facts, const RefusedTurn& turn,
                         const queue::Preemptor& preemptor, Placer& placer,
                         const ReservedNodes::Indices& closed);

}  // namespace nervex::planner
