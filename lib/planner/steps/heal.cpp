#include "planner/steps/heal.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gang/slot.h"
#include "planner/facts/next_look.h"
#include "planner/gang/gang_domains.h"
#include "planner/gang/place_gang.h"
#include "planner/recovery/refusals.h"
#include "planner/steps/yielding_plans.h"
#include "planner/work/queue_use.h"
#include "queue/admission.h"

namespace nervex::planner {
namespace {

// The controller is about to requeue it: it gets no placement at the expense of others.
bool is_released(const GangWork& gang) {
  return gang.before != nullptr && gang::is_released(*gang.before);
}

std::vector<OpenPlan> find_open_plans(const CycleWork& work) {
  std::vector<OpenPlan> plans;
  const Overloaded add{
      [&](ForeignWork* foreign) {
        if (foreign->plan().is_assumed()) plans.push_back({foreign, 0});
      },
      [&](GroupWork* group) {
        if (group->seen->unconfirmed) return;
        for (GangWork& gang : group->gangs) {
          if (gang.stage != GangStage::kAssumed) continue;
          plans.push_back({&gang, group->priority()});
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
  auto group_limits = group_limits_left(gang, ledger);
  for (const OpenSlot* open : gang.open) {
    if (!open->is_stopped()) continue;
    for (const PlacedSlot& slot : gang.placed) {
      if (slot.placement.number != open->placement.number) continue;
      ++stopped[slot.set];
      ledger.use_up(group_limits, slot.set->shape.requests, slot.placement.node, -1);
    }
  }
  bool is_any_kept = false;
  for (const auto& [set, count] : stopped) {
    const placement::DomainFacts facts = find_domain_facts(gang, ledger);
    const auto limits = limits_left(gang);
    for (const std::string& node : find_nodes(*set, count, ledger, {limits, group_limits}, facts)) {
      ledger.take(*set, node);
      ledger.use_up(group_limits, set->shape.requests, node);
      is_any_kept = true;
    }
  }
  return is_any_kept;
}

// It may still get a node that something else uses now: no quota keeps it from one.
bool lacks_nodes(const GangWork& gang) {
  return gang.no_fit && (gang::is_about_nodes(*gang.no_fit) ||
                         *gang.no_fit == gang::NoFit(gang.group_limit_cause));
}

void move_away(GroupWork& work, GangWork& gang, PlacedSlot& placed, const OpenSlot& open,
               Ledger& ledger, SysTime now) {
  if (!move_slot(gang, placed, ledger)) return;
  const auto& [role, slot, node, number] = open.placement;
  gang.losses.push_back(fmt::format("{} was refused on node {} by kube-scheduler: {}",
                                    gang::slot_key(role, slot.ordinal), node, open.message));
  note_refusal(work.avoid, gang, placed.set->name, node, now);
}

// What a gang of another operator lacks to have minMember pods, and no more than it has lost. A
// limit of its queue holds for that, too: its operator has created a new pod. A stop does not: the
// gang runs.
void heal_foreign(ForeignWork& foreign, CycleWork& work, Placer& placer,
                  const queue::Facts& facts) {
  const queue::QueueTree& tree = facts.tree();
  foreign.begin_pass();
  const auto queue = facts.find_default_queue(foreign.ns());
  if (!queue || tree.is_drained(*queue)) return;
  std::optional<queue::Usage> usage;  // counted again after a change
  for (const ForeignPart& part : foreign.list_waiting()) {
    if (!foreign.runs_in_part()) return;
    if (!foreign.replaces_lost(part)) continue;
    const queue::Workload workload = foreign.make_workload(part);
    if (!usage) usage = count_use(work, facts, placer.ledger(), PreemptingUse::kBeyondVictims);
    if (queue::find_exceeded_limit(tree, *usage, *queue, workload)) continue;
    const auto caps = queue::find_caps(tree, *usage, *queue, workload, std::nullopt);
    const auto limits = make_limits(caps, facts.class_label);
    if (foreign.is_full(part, limits)) continue;
    if (foreign.complete(part, placer.ledger(), limits)) {
      usage.reset();
    } else {
      foreign.note_full(part, limits);
    }
  }
}

void heal_foreign(CycleWork& work, Placer& placer, const queue::Facts& facts) {
  for (const Work& one : work.queue) {
    const auto* foreign = std::get_if<ForeignWork*>(&one);
    if (foreign != nullptr && (*foreign)->runs_in_part()) {
      heal_foreign(**foreign, work, placer, facts);
    }
  }
}

// A gang that runs has what its queue allows, so it heals past every limit. But pods that were
// taken from its job, by another owner or a changed mark, count beside their successors: then these
// start within limits only. nullopt: they may.
std::optional<gang::NotAdmitted> find_exceeded(const GroupWork& group, const GangWork& gang,
                                               const queue::Facts& facts, queue::Usage usage) {
  const queue::QueueTree& tree = facts.tree();
  queue::Workload lacking = make_workload(group, gang, tree);
  lacking.requests = {};
  lacking.class_requests.clear();
  for (const gang::MemberSet& set : gang.missing) {
    const auto pods = static_cast<std::int64_t>(set.slots.size());
    queue::add_requests(lacking.requests, set.shape.requests, pods);
  }
  const queue::QueueIndex home = queue::find_home(tree, lacking);
  usage.remove(tree, home, lacking);
  const auto exceeded = queue::find_exceeded_limit(tree, usage, home, lacking);
  if (!exceeded) return std::nullopt;
  return queue::describe(*exceeded);
}

// Finds Obstacle::kOverLimit. Cost: the work's gangs, if a PodGroup that lacks placements has
// pods for which no slot accounts.
void hold_beside_taken_pods(CycleWork& work, const queue::Facts& facts, const Ledger& ledger) {
  std::set<std::string_view> orphaned;  // PodGroups, by namespace and UID
  for (const queue::Workload& pods : facts.orphaned) orphaned.insert(pods.id);
  if (orphaned.empty()) return;
  std::optional<queue::Usage> usage;
  for (GroupWork* group : work.groups) {
    const kube::Meta& meta = group->seen->group->meta;
    if (orphaned.count(meta.ns + "/" + meta.uid) == 0) continue;
    for (GangWork& gang : group->gangs) {
      if (!gang.is_committed() || gang.is_whole()) continue;
      if (!usage) usage = count_use(work, facts, ledger, PreemptingUse::kBeyondVictims);
      const auto exceeded = find_exceeded(*group, gang, facts, *usage);
      if (!exceeded) continue;
      gang.obstruct(Obstacle::kOverLimit);
      gang.no_fit = *exceeded;
    }
  }
}

}  // namespace

bool heal(CycleWork& work, Placer& placer, const queue::Facts& facts, ClassLimits& limits) {
  hold_beside_taken_pods(work, facts, placer.ledger());
  for (GroupWork* group : work.groups) {
    if (group->is_drained) continue;
    for (GangWork& gang : group->gangs) {
      if (!gang.is_committed() || !may_place(*group, gang)) continue;
      limits.place(*group, gang, [&] { placer.complete(*group, gang); });
      if (!lacks_nodes(gang) || is_released(gang)) continue;
      limits.place(*group, gang,
                   [&] { gang.no_fit = group->reserved.heal(gang, placer.ledger()); });
      if (!gang.no_fit) continue;
      const std::size_t lacking = gang.lacking();
      limits.place(*group, gang, [&] {
        gang.no_fit = displace_plans(find_open_plans(work), gang, placer.ledger());
      });
      if (gang.lacking() < lacking) limits.recount(work);  // plans have yielded
      placer.explain_limits(gang);
    }
  }
  bool is_any_kept = false;
  for (GroupWork* group : work.groups) {
    Ledger& ledger = placer.ledger_for(*group);
    for (GangWork& gang : group->gangs) {
      if (!gang.is_stored_committed() || is_released(gang) || gang.open.empty()) continue;
      limits.place(*group, gang,
                   [&] { is_any_kept = keep_for_successors(gang, ledger) || is_any_kept; });
    }
  }
  heal_foreign(work, placer, facts);
  limits.recount(work);
  return is_any_kept;
}

void move_refused(CycleWork& work, Placer& placer, ClassLimits& limits, const CycleFacts& facts,
                  NextLook& next_look) {
  for (GroupWork* group : work.groups) {
    if (group->is_left_alone()) continue;
    Ledger& ledger = placer.ledger_for(*group);
    for (GangWork& gang : group->gangs) {
      if (!gang.is_stored_committed() || gang.obstacle >= Obstacle::kRejected) continue;
      for (const OpenSlot* open : gang.open) {
        if (open->why != OpenSlot::Why::kRefused || is_no_nodes_fault(open->message)) continue;
        const auto placed = gang.find_placed(open->placement.number);
        if (placed == gang.placed.end()) continue;  // it was dropped in this cycle
        const SysTime due = open->since + facts.options.healing.bind_deadline;
        if (due <= facts.now) {
          limits.place(*group, gang,
                       [&] { move_away(*group, gang, *placed, *open, ledger, facts.now); });
        } else {
          next_look.at(due);
        }
      }
    }
  }
}

}  // namespace nervex::planner
