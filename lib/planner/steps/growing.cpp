#include "planner/steps/growing.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planner/steps/class_limits.h"
#include "queue/admission.h"
#include "queue/inadmissible.h"

namespace nervex::planner {
namespace {

// Slots that are placed together.
using GrowingSlots = std::vector<gang::MemberSet>;

bool may_grow(const GroupWork& group, const GangWork& gang) {
  return !gang.growing.empty() && gang.missing.empty() && !group.seen->unconfirmed &&
         gang.obstacle < Obstacle::kRejected && !is_requeued(group, gang);
}

std::vector<GrowingSlots> split(const std::vector<gang::MemberSet>& growing) {
  const bool are_of_one_gpu = std::all_of(growing.begin(), growing.end(), [](const auto& set) {
    return set.role == "collector" || set.role == "learner";
  });
  if (!are_of_one_gpu) return {growing};
  std::vector<GrowingSlots> units;
  for (const gang::MemberSet& set : growing) {
    for (const gang::SlotId slot : set.slots) units.push_back({with_slots(set, {slot})});
  }
  return units;
}

void take_out(std::vector<gang::MemberSet>& growing, const GrowingSlots& slots) {
  for (gang::MemberSet& set : growing) {
    std::erase_if(set.slots, [&](const gang::SlotId slot) {
      return std::any_of(slots.begin(), slots.end(), [&](const gang::MemberSet& one) {
        return one.name == set.name && gang::wants(one, set.role, slot);
      });
    });
  }
  std::erase_if(growing, [](const gang::MemberSet& set) { return set.slots.empty(); });
}

class Grower {
 public:
  Grower(Placer& placer, const queue::Facts& facts, queue::Usage usage, LimitShares& shares)
      : placer_(placer),
        facts_(facts),
        usage_(std::move(usage)),
        shares_(shares),
        limits_(facts, placer.ledger(), usage_) {}

  // True if some of GangWork::growing got their nodes. Those that did not stay there, and the
  // gang's no_fit says why of the first of them.
  bool grow(GroupWork& group, GangWork& gang) {
    bool is_any_placed = false;
    std::optional<gang::NoFit> why;
    std::set<std::string> refused;  // sets: their other slots do not fit either
    for (const GrowingSlots& slots : split(gang.growing)) {
      const bool is_tried = refused.count(slots.front().name) == 0;
      if (is_tried && grow(group, gang, slots)) {
        is_any_placed = true;
        continue;
      }
      if (is_tried && !why) why = gang.no_fit;
      refused.insert(slots.front().name);
    }
    gang.no_fit = std::move(why);
    return is_any_placed;
  }

 private:
  bool grow(GroupWork& group, GangWork& gang, const GrowingSlots& slots) {
    queue::Workload workload = group.seen->make_workload(gang.position);
    workload.requests = {};
    for (const gang::MemberSet& set : slots) {
      queue::add_requests(workload.requests, set.shape.requests,
                          static_cast<std::int64_t>(set.slots.size()));
    }
    gang.no_fit = find_rule(group.queue.name, workload);
    if (gang.no_fit) return false;
    take_out(gang.growing, slots);
    gang.missing = slots;
    bool has_grown = false;
    limits_.place(group, gang, [&] { has_grown = placer_.grow(group, gang); });
    gang.missing.clear();
    if (has_grown) {
      usage_.add(facts_.tree(), *facts_.tree().find(group.queue.name), workload);
      shares_.charge(workload);
    } else {
      gang.growing.insert(gang.growing.end(), slots.begin(), slots.end());
    }
    return has_grown;
  }

  std::optional<gang::NoFit> find_rule(const std::string& name, queue::Workload& workload) {
    const queue::QueueTree& tree = facts_.tree();
    const auto queue = tree.find(name);
    if (!queue) return queue::describe(queue::QueueNotFound{name});
    auto reason = queue::find_inadmissible(tree, usage_, *queue, workload);
    workload.queue = name;
    if (!reason) reason = shares_.find_kept(workload);
    return reason ? std::optional<gang::NoFit>(queue::describe(*reason)) : std::nullopt;
  }

  Placer& placer_;
  const queue::Facts& facts_;
  queue::Usage usage_;
  LimitShares& shares_;
  ClassLimits limits_;
};

}  // namespace

bool place_growing(CycleWork& work, Placer& placer, const queue::Facts& facts, queue::Usage usage,
                   LimitShares& shares) {
  Grower grower(placer, facts, std::move(usage), shares);
  bool is_any_placed = false;
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      if (!may_grow(*group, gang)) continue;
      is_any_placed = grower.grow(*group, gang) || is_any_placed;
      placer.waits_otherwise = placer.waits_otherwise || !gang.growing.empty();
    }
  }
  return is_any_placed;
}

}  // namespace nervex::planner
