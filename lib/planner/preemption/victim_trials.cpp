#include "planner/preemption/victim_trials.h"

#include "planner/gang/place_gang.h"
#include "planner/steps/class_limits.h"
#include "queue/admission.h"
#include "queue/settled.h"

namespace nervex::planner {

std::optional<std::vector<std::size_t>> VictimTrials::fits_without(
    std::span<const std::size_t> victims) {
  const std::set<std::size_t> ending = collect_gangs(victims);
  end(ending);
  GangWork trial = gang_;
  if (!set_limits(trial, ending)) return std::nullopt;
  if (const auto no_fit = complete(trial, ledger_)) {
    const auto* cause = std::get_if<gang::InsufficientCapacity>(&*no_fit);
    gave_up = gave_up || (cause != nullptr && cause->search_gave_up);
    return std::nullopt;
  }
  std::set<std::string_view> nodes;
  for (const PlacedSlot& slot : trial.placed) {
    ledger_.lend(*slot.set, slot.placement.node);
    nodes.insert(slot.placement.node);
  }
  placed = std::move(trial.placed);
  std::vector<std::size_t> used;
  for (const std::size_t victim : victims) {
    if (is_on(victim, nodes)) used.push_back(victim);
  }
  return used;
}

void VictimTrials::keep_to(const std::function<bool(std::string_view node)>& is_one) {
  const placement::Cluster& nodes = ledger_.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const kube::Node& node = nodes.node(i);
    if (!is_one(node.name)) ledger_.hold(node.allocatable, node.name);
  }
}

std::set<std::size_t> VictimTrials::collect_gangs(std::span<const std::size_t> victims) const {
  std::set<std::size_t> gangs;
  for (const std::size_t victim : victims) {
    for (const queue::Workload* workload : running_.candidates()[victim].workloads) {
      gangs.insert(running_.index(*workload));
    }
  }
  return gangs;
}

void VictimTrials::end(const std::set<std::size_t>& ending) {
  for (const std::size_t gang : ending) {
    if (ended_.count(gang) == 0) change(gang, -1);
  }
  for (const std::size_t gang : ended_) {
    if (ending.count(gang) == 0) change(gang, 1);
  }
  ended_ = ending;
}

void VictimTrials::change(std::size_t gang, int times) {
  for (const SlotUse& use : running_.use(gang)) {
    for (int i = 0; i < use.count; ++i) {
      times > 0 ? ledger_.take(*use.set, use.node) : ledger_.lend(*use.set, use.node);
    }
  }
}

// Sets what the queues leave; false: not even so much as the gang requests.
bool VictimTrials::set_limits(GangWork& trial, const std::set<std::size_t>& ending) const {
  const queue::QueueTree& tree = facts_.tree();
  queue::Usage usage = usage_;
  for (const std::size_t gang : ending) {
    const queue::Workload& workload = running_.workload(gang);
    usage.remove(tree, queue::find_home(tree, workload), workload);
  }
  const auto& [workload, queue, guarantor] = preemptor_;
  if (queue::find_inadmissible(tree, usage, queue, *workload)) return false;
  trial.group_limits =
      make_limits(queue::find_caps(tree, usage, queue, *workload, guarantor), facts_.class_label);
  return true;
}

bool VictimTrials::is_on(std::size_t victim, const std::set<std::string_view>& nodes) {
  for (const queue::Workload* workload : running_.candidates()[victim].workloads) {
    for (const SlotUse& use : running_.use(running_.index(*workload))) {
      if (nodes.count(use.node) > 0) return true;
    }
  }
  return false;
}

VictimTrials make_trials(AfterEnding& after, const queue::Facts& facts, const RefusedTurn& turn,
                         const queue::Preemptor& preemptor, Placer& placer,
                         const ReservedNodes::Indices& closed) {
  GangWork empty = *turn.gang;
  forget_placements(empty);
  Ledger ledger = after.ending.lend_to(placer.ledger_for(*turn.group));
  placer.reserved().close(closed, ledger);
  return VictimTrials(facts, after.usage, preemptor, std::move(empty), after.running,
                      std::move(ledger));
}

}  // namespace nervex::planner
