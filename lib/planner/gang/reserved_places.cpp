#include "planner/gang/reserved_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "placement/capacity.h"
#include "planner/gang/gang_domains.h"
#include "planner/gang/place_gang.h"

namespace nervex::planner {
namespace {

// kube-scheduler has refused pods of the set there: the planner limits their number.
bool is_avoided(const GangWork& gang, const gang::MemberSet& set, const std::string& node) {
  return std::any_of(gang.limits.begin(), gang.limits.end(),
                     [&](const placement::NodeLimit& limit) {
                       return limit.set == set.name && limit.node == node;
                     });
}

}  // namespace

ReservedPlaces::ReservedPlaces(const GroupSeen& seen) : group_(seen.group.get()) {
  const gang::GangStatus* base = gang::find_gang(group_->status, gang::kBaseGang);
  if (base == nullptr || !seen.is_committed(*base)) return;
  is_committed_ = true;
  for (const gang::ReservedCapacity& entry : base->reserved) {
    const gang::MemberSet* set = gang::find_set(group_->spec, entry.set);
    for (int i = 0; set != nullptr && i < entry.count; ++i) places_.push_back({set, entry.node});
  }
}

void ReservedPlaces::leave_overfull_nodes(Ledger& ledger) {
  std::erase_if(places_, [&](const ReservedPlace& place) {
    const bool fits = ledger.has_capacity_for_its_own(*place.set, place.node);
    if (!fits) ledger.give_back(*place.set, place.node);
    return !fits;
  });
}

void ReservedPlaces::hand_over(const std::vector<GangWork>& gangs, Ledger& ledger) {
  if (!is_committed_) return;
  wanted_.clear();
  for (const GangWork& gang : gangs) {
    if (!gang.claims_reserved() || gang.obstacle == Obstacle::kRejected) continue;
    for (const gang::MemberSet* set : gang.sets) {
      const auto slots = static_cast<int>(set->slots.size());
      const int wanted = std::min(set->from_reserved.count, slots);
      if (wanted > 0) wanted_.emplace_back(set, wanted);
    }
  }
  for (const auto& claim : wanted_) {
    const gang::MemberSet& set = *claim.first;
    const auto claimer = std::find_if(gangs.begin(), gangs.end(),
                                      [&](const auto& gang) { return gang.has_set(&set); });
    keep(set, claim.second, ledger);
    take_dropped_plan(set, *claimer, ledger);
    if (claimer->before != nullptr && !claimer->before->placements.empty()) continue;
    const gang::MemberSet* from = gang::find_set(group_->spec, set.from_reserved.set);
    if (from != nullptr) take_over(*from, set, claim.second - count(set), ledger);
  }
  for (const gang::MemberSet& set : gang::all_sets(group_->spec.gangs)) {
    const bool is_listed = std::any_of(wanted_.begin(), wanted_.end(),
                                       [&](const auto& one) { return one.first == &set; });
    if (is_listed) continue;
    keep(set, set.reserved_pods, ledger);
    if (set.reserved_pods > 0) wanted_.emplace_back(&set, set.reserved_pods);
  }
}

std::optional<gang::NoFit> ReservedPlaces::complete(GangWork& gang, Ledger& ledger) {
  const bool has_places =
      std::any_of(places_.begin(), places_.end(),
                  [&](const ReservedPlace& place) { return gang.has_set(place.set); });
  auto no_fit = gang.claims_reserved() && has_places ? complete_on_places(gang, ledger)
                                                     : planner::complete(gang, ledger);
  if (!no_fit && !gang.is_committed()) {
    std::erase_if(wanted_, [&](const auto& one) { return gang.has_set(one.first); });
  }
  return no_fit;
}

std::optional<gang::NoFit> ReservedPlaces::heal(GangWork& gang, Ledger& ledger) {
  if (places_.empty()) return gang.no_fit;
  const std::size_t lacking = gang.lacking();
  for (const ReservedPlace& place : places_) {
    ledger.lend(*place.set, place.node);
    ledger.use_up(gang.group_limits, place.set->shape.requests, place.node, -1);
  }
  auto no_fit = planner::complete(gang, ledger);
  std::vector<placement::GroupLimit> left = group_limits_left(gang, ledger);
  std::erase_if(places_, [&](const ReservedPlace& place) {
    const kube::Resources& requests = place.set->shape.requests;
    const bool is_taken =
        lacking > gang.lacking() && (!ledger.has_capacity(*place.set, place.node) ||
                                     !ledger.is_within(left, requests, place.node));
    if (is_taken) {
      ledger.note_dropped_plan();  // it may have been more than is needed
    } else {
      ledger.take(*place.set, place.node);
      ledger.use_up(left, requests, place.node);
      ledger.use_up(gang.group_limits, requests, place.node);
    }
    return is_taken;
  });
  return no_fit;
}

std::optional<gang::NoFit> ReservedPlaces::complete_on_places(GangWork& gang, Ledger& ledger) {
  const auto is_its = [&](const ReservedPlace& place) { return gang.has_set(place.set); };
  std::vector<ReservedPlace> reserved;
  std::copy_if(places_.begin(), places_.end(), std::back_inserter(reserved), is_its);
  std::map<const gang::MemberSet*, std::vector<std::string>> nodes_by_set;
  for (auto place = reserved.rbegin(); place != reserved.rend();
       ++place) {  // the first is taken first
    ledger.give_back(*place->set, place->node);
    if (!is_avoided(gang, *place->set, place->node))
      nodes_by_set[place->set].push_back(place->node);
  }
  for (const gang::MemberSet* set : gang.sets) {
    auto& nodes = nodes_by_set[set];
    std::vector<gang::SlotId> slots = set->slots;
    std::sort(slots.begin(), slots.end());
    for (const gang::SlotId slot : slots) {
      const bool is_placed =
          std::any_of(gang.placed.begin(), gang.placed.end(), [&](const PlacedSlot& placed) {
            return placed.set == set && placed.placement.slot == slot;
          });
      if (is_placed) continue;
      if (nodes.empty()) break;
      gang.placed.push_back({set, {set->role, slot, std::move(nodes.back()), 0}, false});
      nodes.pop_back();
    }
  }
  auto no_fit = planner::complete(gang, ledger);
  std::erase_if(places_, is_its);
  for (std::size_t i = 0; no_fit && i < reserved.size(); ++i) {
    if (!ledger.has_capacity(*reserved[i].set, reserved[i].node)) continue;
    ledger.take(*reserved[i].set, reserved[i].node);
    places_.push_back(std::move(reserved[i]));
  }
  return no_fit;
}

void ReservedPlaces::restore(Ledger& ledger, const GangWork& gang) {
  for (const auto& [set, wanted] : wanted_) {
    const auto is_unusable = [&, set = set](const ReservedPlace& place) {
      return place.set == set && !ledger.is_allowed(*set, place.node);
    };
    const auto unusable =
        static_cast<int>(std::count_if(places_.begin(), places_.end(), is_unusable));
    const int lacking = wanted - count(*set) + unusable;
    if (lacking <= 0) continue;
    const placement::DomainFacts facts = find_domain_facts(gang, ledger);
    const auto group_limits = group_limits_left(gang, ledger);
    for (std::string& node :
         find_nodes(*set, lacking, ledger, {gang.limits, group_limits}, facts)) {
      ledger.take(*set, node);
      places_.push_back({set, std::move(node)});
    }
    // Missing places are reserved first; then the others leave nodes that they cannot use.
    for (int left = std::max(0, count(*set) - wanted); left > 0; --left) {
      const auto at = std::find_if(places_.begin(), places_.end(), is_unusable);
      if (at == places_.end()) break;
      ledger.give_back(*set, at->node);
      places_.erase(at);
    }
  }
}

std::vector<gang::ReservedCapacity> ReservedPlaces::places() const {
  PodCounts counts;
  for (const ReservedPlace& place : places_) ++counts[{place.set->name, place.node}];
  return reserved_capacity(counts);
}

// The last ones by name of the node go first.
void ReservedPlaces::keep(const gang::MemberSet& set, int count, Ledger& ledger) {
  int kept = 0;
  std::erase_if(places_, [&](const ReservedPlace& place) {
    if (place.set != &set || ++kept <= count) return false;
    ledger.give_back(set, place.node);
    return true;
  });
}

void ReservedPlaces::take_dropped_plan(const gang::MemberSet& set, const GangWork& gang,
                                       Ledger& ledger) {
  if (gang.before == nullptr) return;
  int lacking = set.from_reserved.count - count(set);
  for (const gang::Placement& placement : gang.before->placements) {
    const bool is_its = gang::wants(set, placement.role, placement.slot);
    if (lacking <= 0 || !is_its || !ledger.has_capacity(set, placement.node)) continue;
    ledger.take(set, placement.node);
    places_.push_back({&set, placement.node});
    --lacking;
  }
}

// The taker's pods are not larger, but its places are its own size from now on.
void ReservedPlaces::take_over(const gang::MemberSet& from, const gang::MemberSet& to, int count,
                               Ledger& ledger) {
  for (ReservedPlace& place : places_) {
    if (count <= 0) return;
    if (place.set != &from) continue;
    ledger.give_back(from, place.node);
    ledger.take(to, place.node);
    place.set = &to;
    --count;
  }
}

int ReservedPlaces::count(const gang::MemberSet& set) const {
  return static_cast<int>(
      std::count_if(places_.begin(), places_.end(),
                    [&](const ReservedPlace& place) { return place.set == &set; }));
}

std::vector<gang::ReservedCapacity> reserved_capacity(const PodCounts& counts) {
  std::vector<gang::ReservedCapacity> out;
  out.reserve(counts.size());
  for (const auto& [place, count] : counts) {
    out.push_back({std::string(place.first), std::string(place.second), count});
  }
  return out;
}

std::vector<gang::ReservedCapacity> reserved_capacity(const std::vector<PlacedSlot>& placed) {
  PodCounts counts;
  for (const PlacedSlot& slot : placed) ++counts[{slot.set->name, slot.placement.node}];
  return reserved_capacity(counts);
}

std::string describe_reserved(const gang::PodGroup& group,
                              const std::vector<gang::ReservedCapacity>& reserved) {
  std::map<std::string_view, std::pair<int, int>> by_role;  // reserved, wanted
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    const int wanted = set.reserved_pods;
    int count = 0;
    for (const auto& entry : reserved) count += entry.set == set.name ? entry.count : 0;
    if (count == 0 && wanted == 0) continue;
    by_role[set.role].first += count;
    by_role[set.role].second += std::max(wanted, count);
  }
  std::string text;
  bool is_lacking = false;
  std::size_t left = by_role.size();
  for (const auto& [role, counts] : by_role) {
    const auto [is, should] = counts;
    is_lacking = is_lacking || is < should;
    text += fmt::format("{}{} {}{}",
                        text.empty() ? ""
                        : left == 1  ? " and "
                                     : ", ",
                        is < should ? fmt::format("{} of {}", is, should) : std::to_string(is),
                        role, should == 1 ? "" : "s");
    --left;
  }
  if (text.empty()) return "";
  return fmt::format("capacity for {} is reserved{}", text,
                     is_lacking ? ": the rest was lost, and no node has it free" : "");
}

}  // namespace nervex::planner
