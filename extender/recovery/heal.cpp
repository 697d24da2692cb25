#include "extender/recovery/heal.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "extender/cycle/gang/place_gang.h"
#include "extender/cycle/next_look.h"
#include "extender/recovery/refusals.h"
#include "extender/recovery/yielding_plans.h"
#include "gang/slot.h"

namespace nervex::extender {
namespace {

// The controller is about to requeue it: it gets no placement at the expense of others.
bool is_released(const GangWork& gang) {
  return gang.before != nullptr && gang::is_released(*gang.before);
}

std::vector<OpenPlan> find_open_plans(const CycleWork& work) {
  std::vector<OpenPlan> plans;
  const Overloaded add{
      [&](ForeignWork* foreign) {
        if (foreign->is_reserved()) plans.push_back({nullptr, foreign, 0});
      },
      [&](GroupWork* group) {
        if (group->seen->unconfirmed) return;
        for (GangWork& gang : group->gangs) {
          if (gang.committed || !gang.is_reserved) continue;
          plans.push_back({&gang, nullptr, group->priority()});
        }
      },
  };
  for (const Work& one : work.queue) std::visit(add, one);
  return plans;
}

// Pods that the cluster has stopped: the controller is about to want the next incarnations of their
// slots. Until it does, the capacity that they will need is kept from others. True if any is.
bool keep_for_successors(const GangWork& gang, Ledger& ledger) {
  std::map<const gang::MemberSet*, int> stopped;
  for (const OpenSlot* open : gang.open) {
    if (!open->is_stopped()) continue;
    for (const PlacedSlot& slot : gang.placed) {
      if (slot.placement.number == open->placement.number) ++stopped[slot.set];
    }
  }
  bool is_any_kept = false;
  for (const auto& [set, count] : stopped) {
    const TakenDomains taken = taken_domains(gang, ledger);
    for (const std::string& node : find_nodes(*set, count, ledger, limits_left(gang), taken)) {
      ledger.take(*set, node);
      is_any_kept = true;
    }
  }
  return is_any_kept;
}

void move_away(GroupWork& work, GangWork& gang, PlacedSlot& placed, const OpenSlot& open,
               Ledger& ledger, SysTime now) {
  if (!move_slot(gang, placed, ledger)) return;
  const auto& [role, slot, node, number] = open.placement;
  gang.losses.push_back(fmt::format("{} was refused on node {} by kube-scheduler: {}",
                                    gang::slot_key(role, slot.ordinal), node, open.message));
  note_refusal(work.avoid, gang, placed.set->name, node, now);
}

}  // namespace

bool heal(CycleWork& work, Placer& placer) {
  for (GroupWork* group : work.groups) {
    if (group->seen->unconfirmed || group->is_drained) continue;
    for (GangWork& gang : group->gangs) {
      if (!gang.committed || gang.is_whole() || gang.is_rejected) continue;
      if (!gang.preempted.empty()) continue;
      placer.complete(*group, gang);
      if (!gang.no_fit || !gang::is_about_nodes(*gang.no_fit) || is_released(gang)) continue;
      gang.no_fit = group->reserved.heal(gang, placer.ledger());
      if (gang.no_fit) gang.no_fit = displace_plans(find_open_plans(work), gang, placer.ledger());
    }
  }
  bool is_any_kept = false;
  for (const GroupWork* group : work.groups) {
    Ledger& ledger = placer.ledger_for(*group);
    for (const GangWork& gang : group->gangs) {
      if (!gang.is_stored_committed || is_released(gang)) continue;
      is_any_kept = keep_for_successors(gang, ledger) || is_any_kept;
    }
  }
  for (const Work& one : work.queue) {
    const auto* foreign = std::get_if<ForeignWork*>(&one);
    if (foreign != nullptr && (*foreign)->runs_in_part()) (*foreign)->complete(placer.ledger());
  }
  return is_any_kept;
}

void move_refused(CycleWork& work, Ledger& ledger, const HealingOptions& healing, SysTime now,
                  std::optional<SysTime>& next_look) {
  for (GroupWork* group : work.groups) {
    if (group->is_left_alone()) continue;
    ledger.count_for(group->priority());
    for (GangWork& gang : group->gangs) {
      if (!gang.is_stored_committed || gang.is_rejected || !gang.preempted.empty()) continue;
      for (const OpenSlot* open : gang.open) {
        if (open->why != OpenSlot::Why::kRefused || is_no_nodes_fault(open->message)) continue;
        const auto placed = gang.find_placed(open->placement.number);
        if (placed == gang.placed.end()) continue;  // it was dropped in this cycle
        const SysTime due = open->since + healing.bind_deadline;
        if (due <= now) {
          move_away(*group, gang, *placed, *open, ledger, now);
        } else {
          look_by(next_look, due);
        }
      }
    }
  }
}

}  // namespace nervex::extender
