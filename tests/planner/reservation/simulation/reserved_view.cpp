#include "tests/planner/reservation/simulation/reserved_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/planner/reservation/simulation/trace.h"

namespace nervex::testing {

using std::chrono::seconds;

namespace {

std::int64_t find_or_0(const QueueUse& use, const std::string& queue) {
  const auto at = use.find(queue);
  return at == use.end() ? 0 : at->second;
}

}  // namespace

queue::Rank GangSeen::rank() const {
  queue::Rank rank = queue::rank(*group);
  const gang::Gang* spec = gang::find_gang(group->spec, gang->name);
  if (spec != nullptr && spec->queued_since) rank.queued_since = *spec->queued_since;
  return rank;
}

bool GangSeen::is_released() const {
  const gang::GangStatus* base = gang::find_gang(group->status, gang::kBaseGang);
  return gang::is_released(*gang) || (base != nullptr && gang::is_released(*base));
}

std::vector<GangSeen> ReservedView::list_gangs() const {
  std::vector<GangSeen> all;
  for (const gang::PodGroup& group : cluster_.groups) {
    for (const gang::GangStatus& gang : group.status.gangs) {
      if (gang::find_gang(group.spec, gang.name) != nullptr) all.push_back({&group, &gang});
    }
  }
  return all;
}

std::optional<GangSeen> ReservedView::find(const GangSeen::Key& key) const {
  const gang::PodGroup* group = cluster_.find_uid(key.first);
  const auto* gang = group == nullptr ? nullptr : gang::find_gang(group->status, key.second);
  if (gang == nullptr || gang::find_gang(group->spec, key.second) == nullptr) return std::nullopt;
  return GangSeen{group, gang};
}

std::vector<ReservedView::Use> ReservedView::list_uses(std::string_view node) const {
  std::vector<Use> uses;
  for (const GangSeen& one : list_gangs()) {
    if (!one.has_nodes()) continue;
    const gang::MemberSet& set = gang::find_gang(one.group->spec, one.gang->name)->members[0];
    std::int64_t gpus = 0;
    for (const gang::Placement& placement : one.gang->placements) {
      const bool counts = placement.node == node &&
                          gang::wants(set, placement.role, placement.slot) &&
                          !cluster_.is_terminating(*one.group, placement.number);
      if (counts) gpus += set.shape.requests.get(kGpu);
    }
    if (gpus > 0) uses.push_back({one, gpus});
  }
  return uses;
}

bool ReservedView::is_up(std::string_view node) const {
  return std::any_of(cluster_.nodes.begin(), cluster_.nodes.end(), [&](const auto& view) {
    return view.node->name == node && !view.node->unschedulable;
  });
}

// A request ends with its job.
std::optional<SysTime> ReservedView::latest_end(const GangSeen& seen) const {
  const auto& spec = seen.group->spec;
  if (!spec.active_deadline_seconds || !spec.grace_seconds) return std::nullopt;
  const gang::GangStatus* base = gang::find_gang(seen.group->status, gang::kBaseGang);
  const bool runs = base != nullptr && base->committed && base->started_at;
  return (runs ? *base->started_at : now_) +
         seconds(*spec.active_deadline_seconds + *spec.grace_seconds);
}

bool ReservedView::is_counted_on(const Reserved& reserved, const GangSeen& tenant) const {
  const auto at = reserved.counted_on.find(tenant.group->meta.uid);
  return reserved.due && at != reserved.counted_on.end() && at->second &&
         *at->second <= *reserved.due;
}

bool ReservedView::is_reclaimable(const GangSeen& head, const Reserved& reserved,
                                  const GangSeen& tenant) const {
  const bool is_after = tenant.group->spec.preemptible && head.rank() < tenant.rank();
  if (is_after && !may_reclaim(tenant, head)) return true;
  const auto end = latest_end(tenant);
  return is_counted_on(reserved, tenant) && (!end || *end > *reserved.due);
}

// Its queue takes its quota back from others, whatever their priorities.
bool ReservedView::may_reclaim(const GangSeen& tenant, const GangSeen& head) const {
  if (mode_ == queue::PreemptionMode::kOff || tenant.queue() == head.queue()) return false;
  return std::any_of(cluster_.queues.begin(), cluster_.queues.end(), [&](const queue::Queue& one) {
    return one.name == tenant.queue() && one.reclaim == queue::Queue::Reclaim::kAny &&
           !one.quota.empty();
  });
}

bool ReservedView::ends_for(const GangSeen& head, const Reserved& reserved,
                            const GangSeen& tenant) const {
  const std::string& uid = tenant.group->meta.uid;
  if (uid == head.group->meta.uid) return false;
  const bool is_ending = tenant.is_released() || cluster_.is_named(uid, tenant.gang->name) ||
                         cluster_.is_named(uid, gang::kBaseGang);
  if (is_ending) return true;
  if (is_reclaimable(head, reserved, tenant)) return true;
  if (reserved.due) {
    const auto end = latest_end(tenant);
    return end && *end <= *reserved.due;
  }
  // What a job has requested since ends with the job.
  const bool is_known = reserved.counted_on.count(uid) > 0;
  const gang::GangStatus* base = gang::find_gang(tenant.group->status, gang::kBaseGang);
  const auto& started_at = is_known && base ? base->started_at : tenant.gang->started_at;
  return started_at && *started_at <= reserved.since + 2 * clock_error_;
}

std::vector<std::string> ReservedView::find_lacking(const GangSeen& head,
                                                    const Reserved& reserved) const {
  std::vector<std::string> lacking;
  for (const auto& [node, wanted] : reserved.wanted) {
    std::int64_t stays = 0;
    for (const Use& use : list_uses(node)) {
      if (use.by.key() != head.key() && !ends_for(head, reserved, use.by)) stays += use.gpus;
    }
    if (!is_up(node) || stays + wanted > kTraceGpus) lacking.push_back(node);
  }
  return lacking;
}

std::int64_t ReservedView::sum_gpus(const GangSeen& seen) {
  return static_cast<std::int64_t>(seen.gang->placements.size()) * gpus_of(*seen.group);
}

QueueUse ReservedView::sum_committed() const {
  QueueUse use;
  for (const GangSeen& one : list_gangs()) {
    if (one.gang->committed) use[one.queue()] += sum_gpus(one);
  }
  return use;
}

QueueUse ReservedView::sum_use(bool is_most) const {
  QueueUse use;
  for (const GangSeen& one : list_gangs()) {
    const bool counts =
        one.gang->committed || one.gang->planned || (is_most && one.is_preempting());
    if (counts) use[one.queue()] += sum_gpus(one);
  }
  for (const auto& pod : cluster_.terminating) {
    if (!is_most || cluster_.is_placed(*pod)) continue;
    use[kube::annotation(pod->meta, gang::kQueueAnnotation)] += pod->requests.get(kGpu);
  }
  return use;
}

std::int64_t ReservedView::quota(const std::string& queue) const {
  for (const queue::Queue& one : cluster_.queues) {
    if (one.name == queue && !one.quota.empty()) return *one.quota[0].total;
  }
  return 0;
}

// Shares grow while gangs start. So a gang whose queue has borrowed more when the cycle began than
// the other's queue has when it ended was served after it.
bool ReservedView::may_be_before(const GangSeen& one, const GangSeen& head,
                                 const QueueUse& before) const {
  if (one.queue() == head.queue()) return one.rank() < head.rank();
  const std::int64_t used = find_or_0(before, one.queue());
  const std::int64_t guaranteed = quota(one.queue());
  if (guaranteed > 0 && used + sum_gpus(one) <= guaranteed) return true;
  const std::int64_t others = find_or_0(sum_use(true), head.queue()) - quota(head.queue());
  return std::max<std::int64_t>(used - guaranteed, 0) <= std::max<std::int64_t>(others, 0);
}

std::string ReservedView::describe(const GangSeen& head, const Reserved& reserved) const {
  const auto seconds_to = [this](SysTime time) {
    return std::chrono::duration_cast<seconds>(time - now_).count();
  };
  const auto when = [&](const std::optional<SysTime>& time) {
    return time ? fmt::format("{} s", seconds_to(*time)) : std::string("?");
  };
  std::string text =
      fmt::format("{} ({}) in queue '{}', priority {}, reserved since {} s, due {}",
                  head.gang->reason, head.gang->message, head.queue(), head.group->spec.priority,
                  seconds_to(reserved.since), when(reserved.due));
  for (const auto& victim : head.gang->victims) text += ", ends " + victim.pod_group;
  for (const auto& [node, wanted] : reserved.wanted) {
    text += fmt::format("\n  {} GPUs of {}{}:", wanted, node, is_up(node) ? "" : ", which is down");
    for (const auto& [by, gpus] : list_uses(node)) {
      text += fmt::format(" {} {} ({} in queue '{}', priority {}{}{}, ends {})", gpus, by.name(),
                          by.gang->reason, by.queue(), by.group->spec.priority,
                          by.group->spec.preemptible ? ", preemptible" : "",
                          by.rank() < head.rank() ? ", before it" : "", when(latest_end(by)));
    }
    for (const auto& pod : cluster_.terminating) {
      if (pod->node.str() == node) text += " " + pod->meta.name + " is being deleted";
    }
  }
  for (const GangSeen& other : list_gangs()) {
    if (!other.gang->reservation || other.key() == head.key()) continue;
    text += fmt::format("\n  {} has reserved since {} s:", other.name(),
                        seconds_to(other.gang->reservation->since));
    for (const auto& one : other.gang->reservation->nodes) text += " " + one.node;
  }
  return text;
}

}  // namespace nervex::testing
