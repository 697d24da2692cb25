#include "planner/steps/limit_shares.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "planner/facts/next_look.h"
#include "planner/gang/place_gang.h"
#include "planner/steps/class_limits.h"
#include "planner/work/queue_use.h"
#include "planner/work/start_blocker.h"
#include "queue/admission.h"
#include "queue/settled.h"

namespace nervex::planner {
namespace {

// In one pass and queue: where many gangs wait for what may never end.
constexpr int kMostDueSearches = 16;

}  // namespace

void LimitShares::keep_for(const queue::Workload& workload, const GroupWork& group,
                           const GangWork& gang, const queue::Usage& usage) {
  if (!options_.is_on() || gang.claims_reserved()) return;
  if (find_start_blocker(group, gang)) return;
  const SysTime since = waits_since(workload, group);
  if (since + options_.after > now_) return next_look_.at(since + options_.after);
  const bool is_known = std::any_of(heads_.begin(), heads_.end(),
                                    [&](const Head& head) { return head.workload == &workload; });
  if (is_known) return;
  Head head{&workload, &gang, list_shares(workload, usage)};
  if (head.shares.empty()) return;
  const queue::QueueIndex home = queue::find_home(facts_.tree(), workload);
  int& searches = searches_[{home, home == queue::kRoot ? workload.ns : ""}];
  if (searches == kMostDueSearches) return;
  ++searches;
  if (!choose_due(head, since)) return;
  if (!queue::gains_enough(workload, head.due.value_or(now_))) return;
  heads_.push_back(std::move(head));
}

// Of the limits that it counts in, without those of which another gang has its share. Empty: there
// are none, or it needs more than a limit.
std::vector<LimitShares::Share> LimitShares::list_shares(const queue::Workload& workload,
                                                         const queue::Usage& usage) const {
  const queue::QueueTree& tree = facts_.tree();
  std::vector<Share> shares;
  bool is_possible = true;
  const auto add = [&](Share share, std::int64_t limit, Wide used) {
    const std::int64_t need = workload.requests.get(share.resource);
    if (need <= 0) return;
    is_possible = is_possible && need <= limit;
    share.left = limit - used - need;
    if (!is_taken(share)) shares.push_back(share);
  };
  queue::QueueIndex queue = queue::find_home(tree, workload);
  for (; queue != queue::kRoot; queue = tree.parent(queue)) {
    for (const queue::ResourceBound& limit : tree[queue].limit) {
      if (!limit.total) continue;
      const Wide used = Wide{usage.rigid(queue).total.get(limit.resource)} +
                        usage.elastic(queue).total.get(limit.resource);
      add({{}, queue, tree[queue].name, limit.resource}, *limit.total, used);
    }
  }
  for (const queue::QuotaUse& one : placer_.list_quotas(workload.ns)) {
    add({workload.ns, queue::kRoot, one.quota->meta.name, one.limit->resource}, one.limit->hard,
        one.used);
  }
  if (!is_possible) shares.clear();
  return shares;
}

bool LimitShares::is_taken(const Share& share) const {
  return std::any_of(heads_.begin(), heads_.end(), [&](const Head& head) {
    return std::any_of(head.shares.begin(), head.shares.end(), [&](const Share& other) {
      return other.ns == share.ns && other.queue == share.queue;
    });
  });
}

// The start of the workload takes from the share. ResourceQuotas have counted a foreign gang
// already: its pods exist.
bool LimitShares::takes_from(const Share& share, const queue::Workload& workload) const {
  const bool is_foreign = !workload.kind;
  if (is_foreign && !share.ns.empty()) return false;
  return counts_in(share, workload.ns, queue::find_home(facts_.tree(), workload));
}

bool LimitShares::counts_in(const Share& share, std::string_view ns, queue::QueueIndex home) const {
  if (!share.ns.empty()) return share.ns == ns;
  while (home != share.queue && home != queue::kRoot) home = facts_.tree().parent(home);
  return home == share.queue;
}

// Gives the shares what ends in time. False: something has to end of which nothing is known.
bool LimitShares::choose_due(Head& head, SysTime since) {
  const auto is_enough = [&] {
    return std::all_of(head.shares.begin(), head.shares.end(),
                       [](const Share& share) { return share.left >= 0; });
  };
  const auto give = [&](const Tenant& tenant) {
    for (Share& share : head.shares) {
      if (!counts_in(share, tenant.ns, tenant.home)) continue;
      share.left += tenant.requests.get(share.resource);
    }
  };
  if (is_enough()) {  // it waits for nodes
    const auto& nodes = head.gang->reservation;
    if (nodes) head.due = nodes->due;
    return nodes.has_value();
  }
  list_tenants();
  auto tenant = tenants_.begin();
  for (; tenant != tenants_.end() && tenant->end; ++tenant) {
    if (head.due && *tenant->end > *head.due) return true;
    give(*tenant);
    if (!head.due && is_enough()) head.due = *tenant->end;
  }
  if (head.due) return true;
  const std::vector<Share> shares = head.shares;
  for (; tenant != tenants_.end(); ++tenant) {
    // A user cannot close a limit for others with jobs of its own that never end.
    if (!tenant->user.empty() && tenant->user == head.workload->user) continue;
    if (!tenant->started_at || *tenant->started_at >= since) give(*tenant);
  }
  const bool may_end = is_enough();
  head.shares = shares;
  return may_end;
}

void LimitShares::list_tenants() {
  if (std::exchange(has_tenants_, true)) return;
  for (const queue::Settled::Workloads& workloads : facts_.settled->groups) {
    for (const queue::Workload& workload : *workloads) {
      add_tenant(workload, queue::latest_end(workload));
    }
  }
  // Pods that outlive their job may never end, and started before the gang waited.
  for (queue::Workload orphaned : facts_.orphaned) {
    orphaned.started_at = SysTime{};
    add_tenant(orphaned, std::nullopt);
  }
  for (GroupWork* group : work_.groups) {
    if (group->seen->is_settled) continue;
    for (const GangWork& gang : group->gangs) {
      const bool has_nodes = gang.is_assumed();
      if (!has_nodes && !gang.claims_reserved()) continue;
      queue::Workload workload = make_workload(*group, gang, facts_.tree());
      if (!has_nodes) workload.requests = count_taken_over(gang);
      const auto end =
          gang.is_committed() ? queue::latest_end(workload) : queue::latest_end(workload, now_);
      add_tenant(workload, is_requeued(*group, gang) ? now_ : end);
    }
  }
  for (const ForeignWork& foreign : work_.foreign) {
    queue::Workload workload = make_used_workload(foreign, facts_);
    if (workload.requests.empty()) continue;
    workload.started_at = workload.queued_since;
    add_tenant(workload, std::nullopt);
  }
  std::stable_sort(tenants_.begin(), tenants_.end(), [](const Tenant& a, const Tenant& b) {
    return a.end.value_or(SysTime::max()) < b.end.value_or(SysTime::max());
  });
}

// What is overdue ends now.
void LimitShares::add_tenant(const queue::Workload& workload, std::optional<SysTime> end) {
  if (end) end = std::max(*end, now_);
  tenants_.push_back({workload.ns, queue::find_home(facts_.tree(), workload), workload.requests,
                      end, workload.started_at, workload.user});
}

bool LimitShares::ends_in_time(const Head& head, const queue::Workload& workload) const {
  const auto end = queue::latest_end(workload, now_);
  const auto start_time = workload.started_at ? std::chrono::seconds(0) : queue::kStartTime;
  return head.due && end && *end + start_time <= *head.due;
}

std::optional<queue::Inadmissible> LimitShares::find_kept(const queue::Workload& workload) {
  if (heads_.empty()) return std::nullopt;
  for (Head& head : heads_) {
    if (head.workload == &workload || ends_in_time(head, workload)) continue;
    for (const Share& share : head.shares) {
      const std::int64_t need = workload.requests.get(share.resource);
      if (need <= 0 || share.left >= need || !takes_from(share, workload)) continue;
      if (!can_start(head)) break;
      const auto left = static_cast<std::int64_t>(std::max<Wide>(share.left, 0));
      return queue::LimitKept{std::string(share.ns.empty() ? share.name : ""),
                              std::string(share.ns.empty() ? "" : share.name),
                              std::string(share.resource),
                              left,
                              need,
                              head.due};
    }
  }
  return std::nullopt;
}

// A gang that no node could ever hold, nor an empty cluster, nor its class limits, closes no limit.
bool LimitShares::can_start(Head& head) const {
  if (head.can_start) return *head.can_start;
  GangWork trial = *head.gang;
  forget_placements(trial);
  const queue::QueueTree& tree = facts_.tree();
  const auto caps =
      queue::find_caps(tree, queue::Usage(tree), queue::find_home(tree, *head.workload),
                       *head.workload, std::nullopt);
  head.can_start =
      !exceeds_limits(trial, make_limits(caps, facts_.class_label), placer_.ledger().nodes());
  if (!*head.can_start) return false;
  trial.group_limits.clear();
  Ledger ledger = placer_.ledger();
  const auto why = complete(trial, ledger);
  head.can_start = !why || std::holds_alternative<gang::InsufficientCapacity>(*why);
  return *head.can_start;
}

void LimitShares::charge(const queue::Workload& workload) {
  for (Head& head : heads_) {
    if (head.workload == &workload || ends_in_time(head, workload)) continue;
    for (Share& share : head.shares) {
      if (!takes_from(share, workload)) continue;
      share.left -= workload.requests.get(share.resource);
    }
  }
}

}  // namespace nervex::planner
