#include "planner/steps/placer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "planner/gang/gang_domains.h"
#include "planner/gang/place_gang.h"

namespace nervex::planner {

namespace {

// An equal gang gets an equal answer: nothing of the job itself counts.
bool depends_on_nodes_alone(const GangWork& gang) {
  return !gang.claims_reserved() && gang.seen->enlarged.empty() &&
         std::all_of(gang.missing.begin(), gang.missing.end(),
                     [](const gang::MemberSet& set) { return set.admitted.requests.empty(); });
}

// A pod that was placed since may help it.
bool is_spread(const GangWork& gang) {
  return std::any_of(gang.missing.begin(), gang.missing.end(),
                     [](const gang::MemberSet& set) { return !set.shape.spread.empty(); });
}

}  // namespace

Placer::Placer(const Snapshot& snapshot, const WaitingGangs& waiting, SysTime now)
    : waiting_(waiting),
      now_(now),
      ledger_(snapshot.nodes, snapshot.nominated),
      quotas_(snapshot),
      counts_taken_(snapshot.nominated.empty()) {
  waits_otherwise = std::any_of(snapshot.foreign.begin(), snapshot.foreign.end(),
                                [](const auto& seen) { return !seen.pending.empty(); });
}

// Asks the quotas of the namespace before it searches for nodes, as grow() does.
void Placer::complete(GroupWork& work, GangWork& gang) {
  const GroupSeen& seen = *work.seen;
  ledger_.count_for(work.priority());
  if (auto exceeded = quotas_.exceeded_by(seen, gang))
    return hold(work, gang, *std::move(exceeded));
  gang.no_fit = place(work, gang);
  if (!gang.no_fit || gang.is_committed()) {
    quotas_.take(seen, gang);
  } else {
    quotas_.give_back(seen, gang);
  }
}

bool Placer::grow(GroupWork& work, GangWork& gang) {
  ledger_.count_for(work.priority());
  if (auto exceeded = quotas_.exceeded_by(*work.seen, gang)) {
    gang.no_fit = *std::move(exceeded);
    return false;
  }
  const auto held = reserved_->hold(reserved_->find_kept(), ledger_);
  const bool is_one = gang.missing.size() == 1 && gang.missing.front().slots.size() == 1;
  gang.no_fit.reset();
  if (!is_one) {  // some of them alone would be of no use
    GangWork trial = gang;
    Ledger ledger = ledger_;
    gang.no_fit = planner::complete(trial, ledger);
  }
  if (!gang.no_fit) gang.no_fit = place(work, gang);
  ReservedNodes::release(held, ledger_);
  if (!gang.no_fit) quotas_.take(*work.seen, gang);
  return !gang.no_fit;
}

void Placer::reserve(GroupWork& work, GangWork& gang, std::vector<PlacedSlot> placed) {
  gang.placed = std::move(placed);
  gang.missing.clear();
  gang.no_fit.reset();
  take_unchecked(gang, ledger_);
  quotas_.take(*work.seen, gang);
  refused.erase(GangKey(work.seen->group->meta.uid, gang.name));
}

void Placer::hold(GroupWork& work, GangWork& gang, gang::NoFit why) {
  if (!gang.placed.empty()) ledger_.note_dropped_plan();
  drop_plan(gang);
  gang.no_fit = std::move(why);
  if (!gang.is_committed()) quotas_.give_back(*work.seen, gang);
}

const gang::NoFit* Placer::find_equal_refused(const GroupWork& work, const GangWork& gang,
                                              const ReservedNodes::Indices& reserved) const {
  if (gang.is_committed() || !gang.placed.empty() || !depends_on_nodes_alone(gang)) return nullptr;
  const auto equal =
      std::find_if(refused_now_.begin(), refused_now_.end(), [&](const RefusedNow& known) {
        return known.priority == work.priority() && known.gains == ledger_.gains() &&
               (known.changes == ledger_.changes() || !is_spread(gang)) &&
               known.group_limits == gang.group_limits &&
               known.group_limit_cause == gang.group_limit_cause &&
               known.gang->missing == gang.missing && known.gang->limits == gang.limits &&
               known.domains == find_domain_facts(gang, ledger_) && known.reserved == reserved;
      });
  return equal == refused_now_.end() ? nullptr : &equal->no_fit;
}

void Placer::explain_limits(GangWork& gang) const {
  if (!gang.no_fit || gang.group_limits.empty()) return;
  GangWork trial = gang;
  trial.group_limits.clear();
  Ledger ledger = ledger_;
  gang.no_fit = planner::complete(trial, ledger);
  if (!gang.no_fit) gang.no_fit = gang.group_limit_cause;
}

// Gangs that would need more than is left are refused as before, without a plan.
void Placer::note_taken(const GangWork& gang) {
  if (!counts_taken_) return;
  std::map<std::string_view, kube::Resources> used;
  for (const PlacedSlot& slot : gang.placed) {
    used[slot.placement.node] += slot.set->shape.requests;
  }
  const placement::Cluster& nodes = ledger_.nodes();
  for (const auto& [name, requests] : used) {
    const auto node = nodes.find(name);
    if (!node) continue;
    kube::Resources before = nodes.free(*node);
    before += requests;
    waiting_.take(nodes.node(*node), before, requests, taken_);
  }
}

std::optional<gang::NoFit> Placer::plan(GroupWork& work, GangWork& gang,
                                        const ReservedNodes::Indices& reserved) {
  const auto held =
      reserved_ == nullptr ? ReservedNodes::Held() : reserved_->hold(reserved, ledger_);
  gang.no_fit = work.reserved.complete(gang, ledger_);
  explain_limits(gang);
  ReservedNodes::release(held, ledger_);
  return gang.no_fit;
}

std::optional<gang::NoFit> Placer::place(GroupWork& work, GangWork& gang) {
  const GangKey key(work.seen->group->meta.uid, gang.name);
  const bool may_remember = !gang.is_committed() && !gang.claims_reserved();
  const auto [all, forbidden] =
      reserved_ == nullptr ? ReservedNodes::Blocking() : reserved_->find_blocking(work, gang);
  const std::vector<ReservedBy> reserved_by =
      forbidden.empty() ? std::vector<ReservedBy>() : reserved_->name(forbidden);
  // The nodes do not show yet what was given back in this cycle.
  if (may_remember && gang.placed.empty() && !ledger_.has_given_back()) {
    auto known = waiting_.still_refused(key, gang.missing, gang.limits, now_, gang.group_limits,
                                        taken_, reserved_by);
    if (known && known->domains == find_domain_facts(gang, ledger_)) {
      gang::NoFit no_fit = known->no_fit;
      refused.insert_or_assign(key, std::move(known));
      return no_fit;
    }
  }
  if (const gang::NoFit* equal = find_equal_refused(work, gang, forbidden)) {
    const RefusedGang now_refused{gang.missing,
                                  gang.limits,
                                  *equal,
                                  now_,
                                  gang.group_limits,
                                  reserved_by,
                                  find_domain_facts(gang, ledger_)};
    refused.insert_or_assign(key, std::make_shared<const RefusedGang>(now_refused));
    return *equal;
  }
  ++planned;
  const bool is_new = gang.placed.empty();
  std::optional<gang::NoFit> no_fit = plan(work, gang, all);
  if (no_fit && all != forbidden) no_fit = plan(work, gang, forbidden);
  refused.erase(key);
  if (no_fit && !forbidden.empty()) {
    gang::note_reservation(*no_fit, gang::ReservationOutcome::kOfOthers);
  }
  if (!no_fit) {
    if (is_new) note_taken(gang);
    if (reserved_ != nullptr) reserved_->end(gang);
    return no_fit;
  }
  if (may_remember && gang.placed.empty()) {
    const placement::DomainFacts domains = find_domain_facts(gang, ledger_);
    const RefusedGang now_refused{gang.missing,      gang.limits, *no_fit, now_,
                                  gang.group_limits, reserved_by, domains};
    refused.emplace(key, std::make_shared<const RefusedGang>(now_refused));
    if (depends_on_nodes_alone(gang)) {
      refused_now_.push_back({work.priority(), ledger_.gains(), ledger_.changes(), &gang, domains,
                              forbidden, gang.group_limits, gang.group_limit_cause, *no_fit});
    }
  } else {
    waits_otherwise = true;
  }
  return no_fit;
}

}  // namespace nervex::planner
