#include "planner/preemption/recheck_preemption.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <variant>

#include "planner/steps/start_waiting.h"
#include "planner/work/after_ending.h"
#include "planner/work/queue_use.h"
#include "queue/admission.h"
#include "queue/settled.h"

namespace nervex::planner {
namespace {

// A job that waits may have another queue by now.
bool is_in_its_queue(const CycleFacts& facts, const GroupWork& work, const GangWork& gang) {
  if (gang.kind != gang::GangKind::kBase) return true;
  const gang::PodGroup& group = *work.seen->group;
  const auto found = facts.queues().find_queue(group.spec.queue, group.meta.ns.str());
  const auto* queue = std::get_if<queue::QueueIndex>(&found);
  return queue != nullptr && facts.tree()[*queue].name == work.queue.name;
}

// Those of the preemptible candidates that are victims, cheapest first. Fewer than victims: one may
// not end any more.
std::vector<queue::PreemptionCandidate> choose(const RunningGangs& running,
                                               const std::vector<std::size_t>& preemptible,
                                               const std::vector<const gang::Victim*>& victims) {
  std::vector<queue::PreemptionCandidate> chosen;
  for (const std::size_t index : preemptible) {
    const queue::PreemptionCandidate& candidate = running.candidates()[index];
    const RunningGang& gang = running.gang(running.index(candidate.first()));
    const bool is_one = std::any_of(victims.begin(), victims.end(), [&](const auto* victim) {
      return victim->pod_group_uid == gang.group->meta.uid && victim->gang == gang.spec->name;
    });
    if (is_one) chosen.push_back(candidate);
  }
  return chosen;
}

void remove_from(queue::Usage& usage, const queue::QueueTree& tree,
                 const std::vector<queue::PreemptionCandidate>& candidates) {
  std::set<const queue::Workload*> ended;  // a job and one of its requests may both be victims
  for (const queue::PreemptionCandidate& candidate : candidates) {
    for (const queue::Workload* workload : candidate.workloads) {
      if (!ended.insert(workload).second) continue;
      usage.remove(tree, queue::find_home(tree, *workload), *workload);
    }
  }
}

// Also on its nodes, which were chosen within the caps of that time.
bool is_admissible(const queue::QueueTree& tree, const queue::Usage& usage, queue::QueueIndex queue,
                   const queue::Workload& workload, std::optional<queue::QueueIndex> guarantor) {
  return !queue::find_inadmissible(tree, usage, queue, workload) &&
         queue::is_within(queue::find_caps(tree, usage, queue, workload, guarantor),
                          workload.class_requests);
}

queue::Workload make_workload(const CycleFacts& facts, const GroupWork& group,
                              const GangWork& gang) {
  queue::Workload workload = make_workload(group, gang, facts.tree());
  set_class_requests(workload, *group.seen->group, group.seen->uses.get(), facts.snapshot);
  return workload;
}

}  // namespace

bool is_still_allowed(const CycleFacts& facts, CycleWork& work, const GroupWork& group,
                      const GangWork& gang, std::vector<const gang::Victim*> victims,
                      const Ledger& ledger) {
  const queue::QueueTree& tree = facts.tree();
  const auto queue = tree.find(group.queue.name);
  if (!queue || !is_in_its_queue(facts, group, gang)) return false;
  const queue::Workload workload = make_workload(facts, group, gang);
  AfterEnding after(facts, work, count_use(work, facts.queues(), ledger), &gang);
  // A request whose job ends for another gang ends anyway.
  std::erase_if(victims, [&](const gang::Victim* victim) {
    return after.ending.has(victim->pod_group_uid, victim->gang);
  });
  const RunningGangs& running = after.running;
  const queue::Preemptor preemptor = queue::make_preemptor(tree, after.usage, *queue, workload);
  // As in the search: among all candidates, those that were spared included.
  const auto chosen = choose(running,
                             queue::find_preemptible(tree, after.usage, facts.options.preemption,
                                                     preemptor, running.candidates(), facts.now),
                             victims);
  if (chosen.size() != victims.size()) return false;
  remove_from(after.usage, tree, chosen);
  // By priority alone a gang preempts beyond its quota, too.
  const bool reclaims = std::any_of(gang.victims.begin(), gang.victims.end(),
                                    [](const auto& victim) { return victim.is_reclaimed; });
  return is_admissible(tree, after.usage, *queue, workload,
                       reclaims ? preemptor.guarantor : std::nullopt);
}

bool may_start_without(const CycleFacts& facts, CycleWork& work, const GroupWork& group,
                       const GangWork& gang, const std::vector<const gang::Victim*>& victims,
                       const Ledger& ledger) {
  const queue::QueueTree& tree = facts.tree();
  const auto queue = tree.find(group.queue.name);
  if (!queue || !is_in_its_queue(facts, group, gang)) return false;
  if (tree.is_root_alone()) return true;
  AfterEnding after(facts, work, count_use(work, facts.queues(), ledger), &gang);
  std::vector<std::size_t> all(after.running.candidates().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  remove_from(after.usage, tree, choose(after.running, all, victims));
  return is_admissible(tree, after.usage, *queue, make_workload(facts, group, gang), std::nullopt);
}

bool exceeds_limit(const CycleFacts& facts, CycleWork& work, const GroupWork& group,
                   const GangWork& gang, const Ledger& ledger) {
  const queue::QueueTree& tree = facts.tree();
  const queue::Workload workload = make_workload(facts, group, gang);
  const queue::QueueIndex queue = queue::find_home(tree, workload);
  const queue::Usage usage = count_use(work, facts.queues(), ledger, PreemptingUse::kLeftOut);
  // Only limits are asked. The victims have ended for it, also if its queue was stopped meanwhile.
  return queue::exceeds_limit(tree, usage, queue, workload);
}

}  // namespace nervex::planner
