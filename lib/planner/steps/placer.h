// planner/steps/placer.h - does a gang get its nodes in this cycle? Asks capacity, quota, and what
// is known not to fit. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "planner/facts/snapshot.h"
#include "planner/gang/ledger.h"
#include "planner/gang/quotas.h"
#include "planner/reserved_nodes/reserved_nodes.h"
#include "planner/work/group_work.h"
#include "planner/work/waiting.h"

namespace nervex::planner {

// Lives within one cycle. Borrows its arguments.
class Placer {
 public:
  Placer(const Snapshot& snapshot, const WaitingGangs& waiting, SysTime now);

  // Free capacity, after all that this cycle has placed.
  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }
  // The same, for requests of this work's priority.
  Ledger& ledger_for(const GroupWork& work) {
    ledger_.count_for(work.priority());
    return ledger_;
  }

  // Gives every slot of the gang a node within its quota, or sets GangWork::no_fit to the reason. A
  // gang over quota that is not committed loses its plan. Gangs of `waiting` that still cannot fit
  // are not planned again.
  void complete(GroupWork& work, GangWork& gang);
  // Gives a committed gang nodes that are reserved for none, for all of its missing slots or for
  // none: then GangWork::no_fit says why, and nothing is counted.
  bool grow(GroupWork& work, GangWork& gang);
  // From now on a gang is planned although an equal one was refused before in this cycle: the
  // numbers in its reason are to count what was placed since.
  void begin_pass() {
    refused_now_.clear();
    if (reserved_ != nullptr) reserved_->begin_pass();
  }
  // From now on each gang is planned without the reserved capacity that it may not use. Borrowed.
  void keep(ReservedNodes& reserved) { reserved_ = &reserved; }
  ReservedNodes& reserved() { return *reserved_; }
  // The gang, which has no plan, gets these nodes although others still use them.
  void reserve(GroupWork& work, GangWork& gang, std::vector<PlacedSlot> placed);
  // Its quota that the gang would exceed, if it had a plan; nullopt: none.
  bool is_over_quota(const GroupWork& work, const GangWork& gang) const {
    return quotas_.exceeded_by(*work.seen, gang).has_value();
  }
  // Of a gang that lacks nodes: are its class limits the only reason?
  void explain_limits(GangWork& gang) const;
  // The quotas of that namespace, with what is planned.
  std::vector<queue::QuotaUse> list_quotas(std::string_view ns) const { return quotas_.list(ns); }
  // A rule that nodes have no part in keeps the gang from starting: it loses its plan.
  void hold(GroupWork& work, GangWork& gang, gang::NoFit why);

  // ---- what the calls have found so far

  std::size_t planned = 0;  // gangs that were planned
  RefusedGangs refused{};   // gangs without any node
  // Something else waits for capacity.
  bool waits_otherwise = false;

 private:
  std::optional<gang::NoFit> place(GroupWork& work, GangWork& gang);
  // Without the capacity that is reserved for others and that it may not use.
  std::optional<gang::NoFit> plan(GroupWork& work, GangWork& gang,
                                  const ReservedNodes::Indices& reserved);
  // The gang, which had no node before, is placed.
  void note_taken(const GangWork& gang);
  // Why an equal gang, with equal limits, was refused in this pass. Null: there is none, or
  // capacity was given back since.
  const gang::NoFit* find_equal_refused(const GroupWork& work, const GangWork& gang,
                                        const ReservedNodes::Indices& reserved) const;

  const WaitingGangs& waiting_;
  const SysTime now_;
  Ledger ledger_;
  Quotas quotas_;
  ReservedNodes* reserved_ = nullptr;  // null: nothing is reserved
  struct RefusedNow {
    int priority = 0;  // what counts as free depends on it
    std::size_t gains = 0;
    std::size_t changes = 0;
    const GangWork* gang = nullptr;
    placement::DomainFacts domains{};   // that it had to join
    ReservedNodes::Indices reserved{};  // what it might not use
    // Of that turn: it may have another one, with other limits.
    std::vector<placement::GroupLimit> group_limits{};
    gang::NotAdmitted group_limit_cause{};  // names the queue
    gang::NoFit no_fit{};
  };
  std::vector<RefusedNow> refused_now_;
  // Stays empty if there are nominated pods: what is free depends on the priority then.
  TakenPods taken_;
  const bool counts_taken_;
};

}  // namespace nervex::planner
