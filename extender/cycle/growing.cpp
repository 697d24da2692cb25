#include "extender/cycle/growing.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "extender/cycle/class_limits.h"
#include "extender/cycle/gang/place_gang.h"
#include "queue/admission.h"
#include "queue/inadmissible.h"

namespace nervex::extender {
namespace {

// Slots that are placed together.
using GrowingSlots = std::vector<gang::MemberSet>;

bool may_grow(const GroupWork& group, const GangWork& gang) {
  const bool is_ending = group.is_drained || !gang.preempted.empty() ||
                         (gang.before != nullptr && gang::is_released(*gang.before));
  return !gang.growing.empty() && gang.missing.empty() && !group.seen->unconfirmed &&
         !gang.is_rejected && !is_ending;
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

std::optional<gang::NoFit> find_rule(const queue::QueueTree& tree, const queue::Usage& usage,
                                     const std::string& name, const queue::Workload& workload) {
  const auto queue = tree.find(name);
  if (!queue) return queue::describe(queue::QueueNotFound{name});
  const auto reason = queue::find_inadmissible(tree, usage, *queue, workload);
  return reason ? std::optional<gang::NoFit>(queue::describe(*reason)) : std::nullopt;
}

// Some of them alone would be of no use.
bool fits_whole(const GangWork& gang, const Ledger& ledger) {
  GangWork trial = gang;
  Ledger rest = ledger;
  return !complete(trial, rest);
}

// False: `gang` is as before, but for no_fit.
bool grow(GroupWork& group, GangWork& gang, const GrowingSlots& slots, Placer& placer) {
  const std::size_t placed = gang.placed.size();
  gang.missing = slots;
  Ledger& ledger = placer.ledger_for(group);
  const auto held = placer.reserved().hold(placer.reserved().find_kept(), ledger);
  const bool is_one = slots.size() == 1 && slots.front().slots.size() == 1;
  if (is_one || fits_whole(gang, ledger)) {
    placer.complete(group, gang);
  } else {
    GangWork trial = gang;
    Ledger rest = ledger;
    gang.no_fit = complete(trial, rest);
  }
  ReservedNodes::release(held, ledger);
  gang.missing.clear();
  return gang.placed.size() > placed;
}

}  // namespace

bool place_growing(CycleWork& work, Placer& placer, const queue::Facts& facts, queue::Usage usage) {
  const queue::QueueTree& tree = facts.tree();
  ClassLimits limits(facts, placer.ledger(), usage);
  bool is_any_placed = false;
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      if (!may_grow(*group, gang)) continue;
      std::optional<gang::NoFit> why;
      std::set<std::string> refused;  // sets: their other slots do not fit either
      for (const GrowingSlots& slots : split(gang.growing)) {
        take_out(gang.growing, slots);
        queue::Workload workload = group->seen->make_workload(gang.position);
        workload.requests = {};
        for (const gang::MemberSet& set : slots) {
          queue::add_requests(workload.requests, set.shape.requests,
                              static_cast<std::int64_t>(set.slots.size()));
        }
        gang.no_fit = find_rule(tree, usage, group->queue.name, workload);
        const bool is_tried = !gang.no_fit && refused.count(slots.front().name) == 0;
        bool has_grown = false;
        if (is_tried) {
          limits.place(*group, gang, [&] { has_grown = grow(*group, gang, slots, placer); });
        }
        if (has_grown) {
          is_any_placed = true;
          usage.add(tree, *tree.find(group->queue.name), workload);
          continue;
        }
        if (is_tried) refused.insert(slots.front().name);
        if (!why) why = gang.no_fit;
        gang.growing.insert(gang.growing.end(), slots.begin(), slots.end());
      }
      gang.no_fit = std::move(why);
      placer.waits_otherwise = placer.waits_otherwise || !gang.growing.empty();
    }
  }
  return is_any_placed;
}

}  // namespace nervex::extender
