#include "planner/recovery/refusals.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "base/backoff.h"
#include "base/duration.h"
#include "base/text.h"
#include "gang/avoided_nodes.h"
#include "gang/slot.h"
#include "planner/recovery/old_definition.h"

namespace nervex::planner {
namespace {

using std::chrono::milliseconds;

// After the pause of a refused plan, the nodes that it avoided are avoided for so much longer.
constexpr milliseconds kAvoidAfterPause{60'000};
constexpr int kRepeatAtOnce = 2;  // plans in a row
constexpr milliseconds kFirstPause{5'000};
constexpr milliseconds kLongestPause{300'000};
// A changed claim ends this pause.
constexpr milliseconds kFirstPauseForClaims{60'000};
// If a plan fails, the workloads that were preempted for it have ended in vain.
constexpr milliseconds kFirstPreemptionPause{60'000};
constexpr milliseconds kLongestPreemptionPause{3'600'000};
// A time further ahead than this many times the maximum comes from a wrong clock.
constexpr int kClocksDiffer = 2;
constexpr std::size_t kMaxMessage = 1024;

// Words of kube-scheduler 1.36: plugins VolumeBinding, VolumeZone, VolumeRestrictions and
// DynamicResources, in PreFilter. "persistentvolumeclaim "x" not found", "pod has unbound immediate
// PersistentVolumeClaims", "persistentvolumeclaim "x" bound to non-existent persistentvolume",
// "persistentvolumeclaim "x" is being deleted", "storageclass.storage.k8s.io "x" not found",
// "waiting for ephemeral volume controller to create the persistentvolumeclaim", ...
bool speaks_of_claims(std::string_view message) {
  return message.find("persistentvolumeclaim \"") != message.npos ||
         message.find("unbound immediate PersistentVolumeClaims") != message.npos;
}

using SetAndNode = std::pair<std::string_view, std::string_view>;

// The plan's number of pods by set and node.
std::map<SetAndNode, int> placed_on(const gang::PodGroup& group, const gang::GangStatus& gang) {
  std::map<gang::SlotKey, std::string_view> set_by_slot;
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    for (const gang::SlotId slot : set.slots) {
      set_by_slot.emplace(gang::SlotKey(set.role, slot), set.name);
    }
  }
  std::map<SetAndNode, int> placed;
  for (const gang::Placement& placement : gang.placements) {
    const auto set = set_by_slot.find({placement.role, placement.slot});
    if (set != set_by_slot.end()) ++placed[{set->second, placement.node}];
  }
  return placed;
}

std::string refusal_text(std::span<const Refusal> refusals) {
  const Refusal& first = refusals.front();
  const std::string more =
      refusals.size() == 1 ? "" : fmt::format(" (and {} more pods)", refusals.size() - 1);
  return cut_text(fmt::format("kube-scheduler refused {} on node {}{}: {}",
                              gang::slot_key(first.placement.role, first.placement.slot.ordinal),
                              first.placement.node, more, first.message),
                  kMaxMessage);
}

std::string expired_text(const UnboundPods& pods, const std::string& waited) {
  if (pods.missing > 0) {
    return fmt::format("{} of {} pods were not created within {} (deployment nervex-operator)",
                       pods.missing, pods.wanted, waited);
  }
  if (pods.claiming > 0 && pods.gated == 0) {
    return fmt::format(
        "{} of {} pods waited for {} for {}: the claims of a template are created by "
        "kube-controller-manager, and a ResourceQuota may forbid them",
        pods.claiming, pods.wanted, pods.claim, waited);
  }
  if (pods.gated == 0) {
    return fmt::format(
        "kube-scheduler has not bound any of {} pods in {} (deployment nervex-scheduler)",
        pods.wanted, waited);
  }
  return fmt::format(
      "{} of {} pods still had schedulingGates after {}, so none was bound: the gates of all have "
      "to be removed within that time",
      pods.gated, pods.wanted, waited);
}

void add_reserved(gang::GangStatus& base, const std::string& set, const std::string& node) {
  for (gang::ReservedCapacity& entry : base.reserved) {
    if (entry.set != set || entry.node != node) continue;
    ++entry.count;
    return;
  }
  base.reserved.push_back({set, node, 1});
}

// Releases a dropped plan: the base gang reserves nothing; capacity that a request took over is
// reserved for it again, except on the nodes that refused it.
void release_reserved(const gang::PodGroup& group, std::span<const Refusal> refusals,
                      gang::PodGroupStatus& status, gang::GangStatus& gang) {
  if (gang.name == gang::kBaseGang) return gang.reserved.clear();
  const auto base = std::find_if(status.gangs.begin(), status.gangs.end(),
                                 [](const auto& one) { return one.name == gang::kBaseGang; });
  if (base == status.gangs.end() || !base->committed) return;
  const gang::Gang* wanted = gang::find_gang(group.spec, gang.name);
  if (wanted == nullptr) return;
  for (const gang::MemberSet& set : wanted->members) {
    int left = set.from_reserved.count - gang::reserved_for(*base, set.name);
    for (const gang::Placement& placement : gang.placements) {
      const bool is_its = gang::wants(set, placement.role, placement.slot);
      const bool is_refused =
          std::any_of(refusals.begin(), refusals.end(), [&](const Refusal& one) {
            return one.set == set.name && one.placement.node == placement.node;
          });
      if (left <= 0 || !is_its || is_refused) continue;
      add_reserved(*base, set.name, placement.node);
      --left;
    }
  }
}

auto find(gang::PodGroupStatus& status, std::string_view gang_name) {
  return std::find_if(status.gangs.begin(), status.gangs.end(),
                      [&](const gang::GangStatus& gang) { return gang.name == gang_name; });
}

struct Pause {
  int free = 0;  // plans in a row may fail without a pause before the next one
  milliseconds first = kFirstPause;
};

void drop_plan(gang::GangStatus& gang, std::string_view reason, std::string why, Pause pause,
               SysTime now) {
  gang::PlanRefusals& plans = gang.refusals;
  ++plans.count;
  plans.plan_after = now;
  if (plans.count > pause.free) {
    plans.plan_after += backoff_delay(pause.first, plans.count - pause.free - 1, kLongestPause);
  }
  plans.waits_for.clear();
  plans.cause.clear();
  plans.message = std::move(why);
  gang.planned = false;
  gang.placements.clear();
  gang.victims.clear();
  gang.reason = reason;
  gang.message = plans.message;
  gang.cause.reset();
  if (plans.plan_after > now) {
    gang.message += fmt::format("; planned again after {}", to_rfc3339(plans.plan_after));
  }
  gang.since = now;
}

// The next plan also avoids what the refused plan avoided, however long the pause was: otherwise
// the gang would return to the same few nodes and never reach one that accepts it.
void keep_avoiding(std::vector<gang::AvoidedNode>& avoid, const gang::PodGroup& group,
                   const gang::GangStatus& gang, SysTime planned_since) {
  const gang::Gang* wanted = gang::find_gang(group.spec, gang.name);
  if (wanted == nullptr) return;
  const auto is_its = [&](const gang::AvoidedNode& avoided) {
    return std::any_of(wanted->members.begin(), wanted->members.end(),
                       [&](const gang::MemberSet& set) { return set.name == avoided.set; });
  };
  for (gang::AvoidedNode& avoided : avoid) {
    if (avoided.until <= planned_since || !is_its(avoided)) continue;
    avoided.until = std::max(avoided.until, gang.refusals.plan_after + kAvoidAfterPause);
  }
}

// Sorted and unique. Empty if a node may be at fault, too: the plan may go elsewhere.
std::vector<std::string> claims_waited_for(std::span<const Refusal> refusals) {
  std::set<std::string> claims;
  for (const Refusal& refusal : refusals) {
    if (!is_no_nodes_fault(refusal.message)) return {};
    if (!speaks_of_claims(refusal.message)) continue;
    claims.insert(refusal.unusable_claims.begin(), refusal.unusable_claims.end());
  }
  return {claims.begin(), claims.end()};
}

}  // namespace

bool is_no_nodes_fault(std::string_view message) {
  const bool is_missing = message.find("\" not found") != message.npos;
  const auto mentions = [&](std::string_view kind) { return message.find(kind) != message.npos; };
  return speaks_of_claims(message) || mentions("waiting for dynamic resource controller") ||
         (is_missing && (mentions("storageclass") || mentions("resourceclaim") ||
                         mentions("deviceclass") || mentions("device class")));
}

std::optional<gang::PodGroupStatus> refuse_plan(const gang::PodGroup& group,
                                                std::string_view gang_name,
                                                std::span<const Refusal> refusals, SysTime now) {
  gang::PodGroupStatus status = group.status;
  const auto gang = find(status, gang_name);
  if (gang == status.gangs.end() || gang->committed || refusals.empty()) return std::nullopt;
  const bool is_of_plan = std::all_of(refusals.begin(), refusals.end(), [&](const Refusal& one) {
    const auto& placements = gang->placements;
    return std::find(placements.begin(), placements.end(), one.placement) != placements.end();
  });
  if (!is_of_plan) return std::nullopt;
  status.avoid = gang::avoided_nodes(group, now);
  auto allowed = placed_on(group, *gang);
  for (const Refusal& refusal : refusals) --allowed[{refusal.set, refusal.placement.node}];
  std::map<SetAndNode, bool> done;
  for (const Refusal& refusal : refusals) {
    const SetAndNode where(refusal.set, refusal.placement.node);
    if (is_no_nodes_fault(refusal.message) || !done.emplace(where, true).second) continue;
    gang::avoid_node(status.avoid, where.first, where.second, std::max(0, allowed[where]), now);
  }
  release_reserved(group, refusals, status, *gang);
  const SysTime planned_since = gang->since;
  const auto waits_for = claims_waited_for(refusals);
  const Pause pause =
      waits_for.empty() ? Pause{kRepeatAtOnce, kFirstPause} : Pause{0, kFirstPauseForClaims};
  drop_plan(*gang, gang::kReasonRefusedByScheduler, refusal_text(refusals), pause, now);
  gang->refusals.waits_for = waits_for;
  keep_avoiding(status.avoid, group, *gang, planned_since);
  return status;
}

std::optional<gang::PodGroupStatus> expire_plan(const gang::PodGroup& group,
                                                std::string_view gang_name, const UnboundPods& pods,
                                                std::chrono::milliseconds waited, SysTime now) {
  gang::PodGroupStatus status = group.status;
  const auto gang = find(status, gang_name);
  if (gang == status.gangs.end() || gang->committed || !gang->planned) return std::nullopt;
  release_reserved(group, {}, status, *gang);
  const bool is_claiming = pods.claiming > 0 && pods.missing == 0 && pods.gated == 0;
  drop_plan(*gang, gang::kReasonPlanExpired, expired_text(pods, format_duration(waited)),
            is_claiming ? Pause{0, kFirstPauseForClaims} : Pause{}, now);
  if (is_claiming) gang->refusals.cause = pods.claim;
  return status;
}

bool is_for_reservation(const std::vector<gang::Victim>& victims) {
  return std::all_of(victims.begin(), victims.end(),
                     [](const gang::Victim& victim) { return victim.is_for_reservation; });
}

std::optional<gang::PodGroupStatus> expire_preemption(const gang::PodGroup& group,
                                                      std::string_view gang_name, bool is_counted,
                                                      SysTime now) {
  gang::PodGroupStatus status = group.status;
  const auto gang = find(status, gang_name);
  if (gang == status.gangs.end() || gang->committed || gang->victims.empty()) return std::nullopt;
  release_reserved(group, {}, status, *gang);
  // Meanwhile the placements alone named its nodes.
  if (gang->reservation && is_for_reservation(gang->victims)) {
    auto nodes = placed_on(group, *gang);
    for (const gang::ReservedCapacity& one : gang::find_gang(group.status, gang_name)->reserved) {
      nodes[{one.set, one.node}] += one.count;
    }
    for (const auto& [where, count] : nodes) {
      gang->reservation->nodes.push_back(
          {std::string(where.first), std::string(where.second), count});
    }
  }
  std::string why =
      "the workloads that it preempts have not ended in time: the controller (deployment "
      "nervex-operator) does not requeue them, or their pods do not end";
  if (!is_counted) {
    why = fmt::format(
        "nothing was preempted: the status of Queue {} has not counted it (recentPreemptions); "
        "perhaps {}",
        status.queue.name, describe_old_definition(kQueueDefinition));
  }
  drop_plan(*gang, gang::kReasonPlanExpired, std::move(why), {}, now);
  return status;
}

bool is_paused(const gang::GangStatus& gang, SysTime now) {
  const SysTime until = gang.refusals.plan_after;
  return until > now && until <= now + kClocksDiffer * kLongestPause;
}

milliseconds preemption_pause(int failures) {
  return backoff_delay(kFirstPreemptionPause, failures - 1, kLongestPreemptionPause);
}

std::optional<SysTime> preempts_after(const gang::Gang& gang, const gang::GangStatus* status,
                                      SysTime now) {
  SysTime after = gang.preempt_after.value_or(SysTime{});
  if (status != nullptr && status->refusals.count > 0) {
    const gang::PlanRefusals& refusals = status->refusals;
    after = std::max(after, refusals.plan_after + preemption_pause(refusals.count));
  }
  const SysTime latest = now + kClocksDiffer * (kLongestPause + kLongestPreemptionPause);
  return after > now && after <= latest ? std::optional(after) : std::nullopt;
}

bool is_cause_over(const gang::GangStatus& gang, std::span<const std::string> unusable_claims) {
  const auto& causes = gang.refusals.waits_for;
  return std::any_of(causes.begin(), causes.end(), [&](const std::string& cause) {
    return std::find(unusable_claims.begin(), unusable_claims.end(), cause) ==
           unusable_claims.end();
  });
}

std::string_view name_claim(std::string_view unusable_claim) {
  return unusable_claim.substr(0, unusable_claim.rfind('='));
}

std::vector<std::string> select_claims(const gang::Gang& gang,
                                       std::span<const std::string> unusable_claims) {
  std::vector<std::string> selected;
  for (const std::string& one : unusable_claims) {
    const std::string_view name = name_claim(one);
    const bool is_its = std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& set) {
      const auto& claims = set.shape.claims;
      return std::find(claims.begin(), claims.end(), name) != claims.end();
    });
    if (is_its) selected.push_back(one);
  }
  return selected;
}

std::optional<gang::StartBlocker> find_unusable_claim(std::span<const std::string> unusable_claims,
                                                      const gang::GangStatus* status) {
  const bool is_refused = status != nullptr && !status->refusals.waits_for.empty() &&
                          !is_cause_over(*status, unusable_claims);
  for (const std::string& one : unusable_claims) {
    const std::string name(name_claim(one));
    const std::string_view state = std::string_view(one).substr(name.size() + 1);
    const auto make = [&](std::string_view what) {
      return gang::StartBlocker{std::string(kClaimKind), name,
                                fmt::format("{} {} {}", kClaimKind, name, what)};
    };
    if (state == "missing") return make("does not exist");
    if (state == "lost") return make("has lost its volume");
    const auto& causes = is_refused ? status->refusals.waits_for : std::vector<std::string>();
    if (std::find(causes.begin(), causes.end(), one) != causes.end()) return make("is not bound");
  }
  return std::nullopt;
}

std::vector<placement::NodeLimit> collect_node_limits(std::span<const gang::AvoidedNode> avoid,
                                                      SysTime now) {
  std::vector<placement::NodeLimit> limits;
  for (const gang::AvoidedNode& avoided : avoid) {
    if (gang::is_in_force(avoided, now))
      limits.push_back({avoided.set, avoided.node, avoided.at_most});
  }
  return limits;
}

std::optional<SysTime> avoided_until(std::span<const gang::AvoidedNode> avoid, SysTime now) {
  std::optional<SysTime> first;
  for (const gang::AvoidedNode& avoided : avoid) {
    if (gang::is_in_force(avoided, now) && (!first || avoided.until < *first))
      first = avoided.until;
  }
  return first;
}

}  // namespace nervex::planner
