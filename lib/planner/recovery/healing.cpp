#include "planner/recovery/healing.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gang/avoided_nodes.h"
#include "gang/slot.h"
#include "planner/facts/next_look.h"

namespace nervex::planner {
namespace {

using LossCode = gang::HealingCause::Code;

// Jobs can do without some of these for a while.
constexpr std::string_view kCollector = "collector";

std::string describe_slot(const OpenSlot& open) {
  std::string slot = gang::slot_key(open.placement.role, open.placement.slot.ordinal);
  const std::string& node = open.placement.node;
  switch (open.why) {
    case OpenSlot::Why::kNodeLost:
      return fmt::format("{} lost its node {} ({})", slot, node, open.message);
    case OpenSlot::Why::kTakenAway:
      return fmt::format("{} was stopped on node {}: {}", slot, node, open.message);
    case OpenSlot::Why::kRefused:
      return fmt::format("{} is refused on node {} by kube-scheduler: {}", slot, node,
                         open.message);
    case OpenSlot::Why::kUnbound:
      return fmt::format("{} is not bound to node {}", slot, node);
    case OpenSlot::Why::kNotStarted:
      return fmt::format("{} was created on node {}, whose kubelet has not started it", slot, node);
  }
  return slot;
}

LossCode loss_code(const OpenSlot& open) {
  if (open.why == OpenSlot::Why::kUnbound) return LossCode::kPodNotBound;
  return open.why == OpenSlot::Why::kNotStarted ? LossCode::kPodNotStarted : LossCode::kPodLost;
}

// The slots of the quorum without a running pod, and what to report about them.
struct Gaps {
  std::size_t count = 0;
  std::optional<gang::HealingCause> cause;  // the one that tells most; of several the first
  // Slots whose last pod has not ended: how many, and when the first will end.
  std::size_t waiting = 0;
  std::size_t waiting_collectors = 0;  // of those
  SysTime first_end = SysTime::max();
  bool is_any_on_lost_node = false;
  void add(LossCode code, std::string message) {
    if (!cause || code < cause->code) cause = {code, std::move(message)};
  }
};

Gaps find_gaps(const GangWork& work) {
  Gaps gaps;
  std::map<std::int64_t, const OpenSlot*> open;
  for (const OpenSlot* slot : work.open) open.emplace(slot->placement.number, slot);
  for (const std::string& loss : work.losses) gaps.add(LossCode::kPodLost, loss);
  const auto lost_pod = [&](const std::string& role, gang::SlotId slot) {
    ++gaps.count;
    const auto loss = work.seen->losses.find({role, slot.ordinal});
    const bool is_known = loss != work.seen->losses.end();
    gaps.add(is_known ? LossCode::kPodLost : LossCode::kPodMissing,
             gang::slot_key(role, slot.ordinal) + " " +
                 (is_known ? loss->second : std::string("lost its pod")));
  };
  // The controller creates no pod for the slot while one of an earlier incarnation exists.
  const auto note_wait = [&](const std::string& role, gang::SlotId slot) {
    const auto last = work.seen->ending.find({role, slot.ordinal});
    if (last == work.seen->ending.end() || last->second.incarnation >= slot.incarnation) return;
    ++gaps.waiting;
    if (role == kCollector) ++gaps.waiting_collectors;
    gaps.first_end = std::min(gaps.first_end, last->second.until);
    gaps.add(LossCode::kPodTerminating,
             fmt::format("{} waits until pod {} has ended (terminating until {})",
                         gang::slot_key(role, slot.ordinal), last->second.name,
                         to_rfc3339(last->second.until)));
  };
  for (const gang::MemberSet& set : work.missing) {
    for (const gang::SlotId slot : set.slots) {
      if (!gang::is_of_quorum(set, slot)) continue;
      note_wait(set.role, slot);
      lost_pod(set.role, slot);
    }
  }
  for (const PlacedSlot& slot : work.placed) {
    if (!gang::is_of_quorum(*slot.set, slot.placement.slot)) continue;
    const auto at = open.find(slot.placement.number);
    if (has_grown(slot)) continue;
    if (slot.placement.number == 0) {
      note_wait(slot.placement.role, slot.placement.slot);
      lost_pod(slot.placement.role, slot.placement.slot);
    } else if (at != open.end()) {
      ++gaps.count;
      if (at->second->why == OpenSlot::Why::kNodeLost) gaps.is_any_on_lost_node = true;
      if (at->second->why == OpenSlot::Why::kUnbound) {
        note_wait(slot.placement.role, slot.placement.slot);
      }
      gaps.add(loss_code(*at->second), describe_slot(*at->second));
    }
  }
  return gaps;
}

gang::HealingCause find_cause(const Gaps& gaps) {
  gang::HealingCause cause = gaps.cause.value_or(gang::HealingCause{});
  if (gaps.count > 1) cause.message += fmt::format(", and {} more pods do not run", gaps.count - 1);
  return cause;
}

// Running pods of the set on the node.
int running_on(const GangWork& gang, std::string_view set, std::string_view node) {
  std::set<std::int64_t> open;
  for (const OpenSlot* slot : gang.open) {
    if (slot->why != OpenSlot::Why::kNotStarted) open.insert(slot->placement.number);
  }
  return static_cast<int>(
      std::count_if(gang.placed.begin(), gang.placed.end(), [&](const PlacedSlot& slot) {
        return slot.set->name == set && slot.placement.node == node && slot.placement.number != 0 &&
               open.count(slot.placement.number) == 0;
      }));
}

// The time that is stored while a gang runs on: when those pods have ended, the whole deadline is
// left. In steps, because each new time is a write.
SysTime next_step(SysTime first, SysTime now, std::chrono::milliseconds step) {
  if (now < first || step.count() == 0) return first;
  return first + ((now - first) / step + 1) * step;
}

}  // namespace

// A new leader takes the number that this attempt has added to the status as its own count: the
// previous leader may have written it.
std::vector<gang::AvoidedNode> note_rejections(const GroupSeen& seen,
                                               const std::vector<GangWork>& gangs, SysTime now,
                                               const HealingMemory& memory, HealingMemory& to) {
  const gang::PodGroup& group = *seen.group;
  std::vector<gang::AvoidedNode> avoid = gang::avoided_nodes(group, now);
  for (const auto& [set, node, times] : seen.rejections) {
    const std::tuple key(group.meta.uid, set, node);
    const auto known = memory.rejections.find(key);
    const int added =
        gang::times_refused(avoid, set, node) - gang::times_refused(group.spec.avoid, set, node);
    const int before =
        known == memory.rejections.end() ? std::min(times, std::max(0, added)) : known->second;
    to.rejections[key] = times;
    if (times <= before) continue;
    int running = 0;
    for (const GangWork& gang : gangs) running += running_on(gang, set, node);
    gang::avoid_node(avoid, set, node, running, now);
  }
  return avoid;
}

void note_refusal(std::vector<gang::AvoidedNode>& avoid, const GangWork& gang,
                  const std::string& set, const std::string& node, SysTime now) {
  gang::avoid_node(avoid, set, node, running_on(gang, set, node), now);
}

std::optional<HealingState> judge_healing(const GangWork& work, SysTime now,
                                          const HealingMemory& memory,
                                          const HealingOptions& options) {
  if (!work.is_stored_committed()) return std::nullopt;
  const Gaps gaps = find_gaps(work);
  if (gaps.count == 0) return std::nullopt;
  HealingState state;
  state.since = now;
  state.cause = find_cause(gaps);
  const bool was_shown = work.before != nullptr && work.before->healing_since.has_value();
  const auto known = memory.incomplete.find({work.seen->group->meta.uid, work.name});
  const bool all_wait = gaps.waiting == gaps.count;
  // The first cause stays, unless a new one says more: the PodGroup's spec may want the next pod
  // before the end of the previous one was seen, and kube-scheduler may take a while to refuse a
  // pod.
  const auto keep_cause = [&](const gang::HealingCause& cause) {
    if (cause.message.empty() || (cause.is_vague() && !state.cause.is_vague())) return;
    // The pod that it names may have ended since; and nothing else is missing while all wait.
    if (cause.code == LossCode::kPodTerminating || all_wait) return;
    state.cause = cause;
  };
  if (was_shown) {
    state.since = std::min(*work.before->healing_since, now);
    keep_cause(work.before->healing_cause);
  } else if (known != memory.incomplete.end()) {
    state.since = std::min(known->second.since, now);
    keep_cause(known->second.cause);
  }
  // Nothing can be done before the first of those pods has ended. In the status, too, so that the
  // next leader does not count the time until then.
  if (all_wait) state.since = std::max(state.since, gaps.first_end);
  // A new attempt would wait for the same pods, and lose what the job has done.
  state.runs_on = all_wait && gaps.waiting_collectors == gaps.count;
  if (state.runs_on) {
    state.since = next_step(gaps.first_end, now, options.deadline);
    look_by(state.look_again, state.since);
  }
  const SysTime late = state.since + options.bind_deadline;
  const bool is_long_wait = state.since > now + options.bind_deadline;
  const bool is_stuck = work.no_fit && !work.missing.empty();
  state.is_shown = was_shown || gaps.is_any_on_lost_node || is_long_wait || is_stuck || now >= late;
  if (!state.is_shown) look_by(state.look_again, late);
  if (options.deadline.count() == 0 || state.runs_on) return state;
  state.deadline = state.since + options.deadline;
  state.is_over = now >= *state.deadline;
  if (!state.is_over) look_by(state.look_again, *state.deadline);
  return state;
}

std::string healing_text(const HealingState& state, bool all_placed) {
  if (state.is_over) {
    return state.cause.message +
           "; not all pods of the gang could be made to run in time: the gang is requeued";
  }
  if (state.runs_on) {
    return state.cause.message +
           "; the gang runs on without it, and a new pod follows when it has ended. If it does not "
           "end, a finalizer or its node keeps it: see its metadata.finalizers, remove those whose "
           "owner no longer exists, or delete the node if it is out of order";
  }
  if (!state.deadline) {
    return fmt::format("{}; {}", state.cause.message,
                       all_placed ? "lost pods are replaced" : "a new place is searched");
  }
  const std::string until = to_rfc3339(*state.deadline);
  if (!all_placed) {
    return fmt::format("{}; a new place is searched until {}, then the gang is requeued",
                       state.cause.message, until);
  }
  return fmt::format(
      "{}; lost pods are replaced, and if not all pods of the gang run by {} it is "
      "requeued",
      state.cause.message, until);
}

}  // namespace nervex::planner
