#include "extender/observe/parts/foreign_gangs.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "gang/pod_group.h"
#include "gang/slot.h"

namespace nervex::extender {
namespace {

enum class Stage {
  kNotThere,  // gated, or being deleted
  kPending,
  kBound,
  kFinished,
};

Stage classify_stage(const kube::Pod& pod) {
  if (pod.is_finished()) return Stage::kFinished;
  if (pod.meta.deleting) return Stage::kNotThere;
  if (!pod.node.empty()) return Stage::kBound;
  return pod.detail && !pod.detail->is_gated ? Stage::kPending : Stage::kNotThere;
}

// A DaemonSet has pinned the pod to its node, and creates it again if it does not start there.
bool is_of_daemon_set(const kube::Pod& pod) {
  const auto& owner = pod.meta.owner;
  if (!owner || owner->kind != "DaemonSet" || owner->api_version != "apps/v1") return false;
  return pod.detail && pod.detail->is_pinned;
}

// A gang of one, as its PodGroup would be.
kube::ForeignGroupPtr make_group_of(const kube::Pod& pod) {
  kube::ForeignPodGroup group;
  group.meta.ns = pod.meta.ns;
  group.meta.name = pod.meta.name;
  group.meta.uid = pod.meta.uid;
  group.meta.created = pod.meta.created;
  group.min_member = 1;
  group.is_pod = true;
  return std::make_shared<const kube::ForeignPodGroup>(std::move(group));
}

bool mounts_claims(const kube::Pod& pod) { return pod.detail && !pod.detail->claims.empty(); }

void count(const kube::Pod& pod, std::int64_t more, planner::ForeignCounts& counts) {
  if (pod.phase == kube::PodPhase::kRunning) counts.running += more;
  if (pod.phase == kube::PodPhase::kSucceeded) counts.succeeded += more;
  if (pod.phase == kube::PodPhase::kFailed) counts.failed += more;
  if (classify_stage(pod) == Stage::kBound) counts.bound += more;
}

// The order in which a gang's pods get nodes if not all fit.
bool comes_first(const planner::ForeignPod& a, const planner::ForeignPod& b) {
  const auto key = [](const kube::Pod& pod) {
    return std::tuple(-std::int64_t{pod.priority}, pod.meta.created,
                      std::string_view(pod.meta.name));
  };
  return key(*a.pod) < key(*b.pod);
}

}  // namespace

bool is_of_our_scheduler(const kube::Pod& pod) {
  return pod.scheduler_name == gang::kSchedulerName;
}

bool is_plain(const kube::Pod& pod) {
  return is_of_our_scheduler(pod) && kube::foreign_group_name(pod.meta).empty() &&
         kube::annotation(pod.meta, gang::kPodGroupUidAnnotation).empty();
}

bool is_stray(const kube::Pod& pod) {
  return is_plain(pod) && pod.node.empty() && pod.meta.owner &&
         pod.meta.owner->api_version == gang::kApiVersion;
}

std::string foreign_gang_name(const kube::Pod& pod) {
  if (is_plain(pod)) {
    const bool waits = classify_stage(pod) == Stage::kPending && !is_of_daemon_set(pod);
    return waits && !is_stray(pod) ? planner::plain_key(pod.meta) : "";
  }
  const std::string& name = kube::foreign_group_name(pod.meta);
  if (name.empty() || !is_of_our_scheduler(pod) || gang::pod_slot(pod)) return "";
  return pod.meta.ns + ("/" + name);
}

bool foreign_pod_matters(const kube::PodPtr& before, const kube::PodPtr& after) {
  const bool is_any = (before && !foreign_gang_name(*before).empty()) ||
                      (after && !foreign_gang_name(*after).empty());
  if (!is_any) return false;
  if (!before || !after) return true;
  const auto state = [](const kube::Pod& pod) {
    return std::tie(pod.meta.uid, pod.meta.labels, pod.node, pod.nominated_node, pod.phase,
                    pod.meta.deleting, pod.unscheduled_message, pod.unscheduled_reason, pod.detail,
                    pod.requests);
  };
  return state(*before) != state(*after);
}

// ---- changes

void ForeignGangs::pod_changed(const kube::PodPtr& before, const kube::PodPtr& after) {
  const bool was_replaced = before && after && before->meta.uid != after->meta.uid;
  const std::string was = before ? foreign_gang_name(*before) : "";
  const std::string is = after ? foreign_gang_name(*after) : "";
  if (was.empty() && is.empty()) return;
  const bool is_same = before && after && !was_replaced && was == is;
  const bool stays_assumed = is_same && classify_stage(*after) == Stage::kPending &&
                             gangs_[was].assumed.count(before->meta.uid) > 0;
  if (!was.empty()) remove(*before);
  if (!is.empty()) add(after);
  if (stays_assumed) gangs_[is].assumed.insert(after->meta.uid);
  // A pod that runs on under another label, which its user may change, is not lost.
  const bool is_taken_out =
      !was.empty() && !was_replaced && was != is && after && after->occupies();
  if (is_taken_out) forget_whole(gangs_[was]);
  for (const std::string& key : {was, is}) {
    if (!key.empty()) note_whole(gangs_[key]);
  }
  if (!was.empty()) drop_if_empty(was);
}

void ForeignGangs::add(const kube::PodPtr& pod) {
  Gang& gang = gangs_[foreign_gang_name(*pod)];
  gang.had_pods = true;
  if (is_plain(*pod)) gang.group = make_group_of(*pod);
  if (gang.owner.empty() && pod->meta.owner)
    gang.owner = pod->meta.ns + ("/" + pod->meta.owner->name);
  count(*pod, 1, gang.counts);
  count_use(*pod, true, gang);
  if (classify_stage(*pod) != Stage::kPending) return;
  gang.pending[pod->meta.uid] = pod;
  if (mounts_claims(*pod)) ++with_claims_;
}

void ForeignGangs::remove(const kube::Pod& pod) {
  Gang& gang = gangs_[foreign_gang_name(pod)];
  count(pod, -1, gang.counts);
  count_use(pod, false, gang);
  if (classify_stage(pod) != Stage::kPending) return;
  gang.pending.erase(pod.meta.uid);
  gang.assumed.erase(pod.meta.uid);
  if (mounts_claims(pod)) --with_claims_;
}

void ForeignGangs::count_use(const kube::Pod& pod, bool adds, Gang& gang) {
  if (!pod.occupies()) return;
  const bool is_starting = !pod.meta.deleting && pod.phase != kube::PodPhase::kRunning;
  if (is_starting) gang.not_running += adds ? 1 : -1;
  kube::Resources& sum = pod.meta.deleting ? gang.ending_requests : gang.bound_requests;
  adds ? sum += pod.requests : sum -= pod.requests;
  kube::Resources& on_node = gang.used_on[pod.node.str()];
  adds ? on_node += pod.requests : on_node -= pod.requests;
  if (on_node.empty()) gang.used_on.erase(pod.node.str());
}

void ForeignGangs::group_changed(const kube::ForeignGroupPtr& before,
                                 const kube::ForeignGroupPtr& after) {
  const std::string key = (after ? after : before)->meta.key();
  Gang& gang = gangs_[key];
  const bool is_other = before && after && before->meta.uid != after->meta.uid;
  if (!after || is_other) {
    gang.message.clear();
    forget_whole(gang);
  }
  gang.group = after;
  note_whole(gang);
  drop_if_empty(key);
}

// If it is whole. Pods that are only assumed to be bound do not count, nor do those that no kubelet
// has admitted: their author may have named any node and any amount.
void ForeignGangs::note_whole(Gang& gang) {
  if (!gang.group || gang.counts.bound == 0 || gang.not_running > 0) return;
  if (gang.counts.needed(gang.group->min_member) > 0) return;
  gang.whole_with = gang.group->min_member;
  gang.whole_requests = gang.bound_requests;
}

void ForeignGangs::forget_whole(Gang& gang) {
  gang.whole_with = 0;
  gang.whole_requests = {};
}

void ForeignGangs::drop_if_empty(const std::string& key) {
  const auto at = gangs_.find(key);
  if (at == gangs_.end()) return;
  const auto& [pending, bound, running, succeeded, failed] = at->second.counts;
  const bool has_pods = !at->second.pending.empty() || !at->second.used_on.empty() ||
                        bound + running + succeeded + failed > 0;
  const kube::ForeignGroupPtr& group = at->second.group;
  if (!has_pods && (!group || group->is_pod)) gangs_.erase(at);
}

void ForeignGangs::explain(const std::string& gang, std::string message) {
  const auto at = gangs_.find(gang);
  if (at != gangs_.end()) at->second.message = std::move(message);
}

void ForeignGangs::assume(const std::string& gang, const std::string& pod_uid) {
  const auto at = gangs_.find(gang);
  if (at != gangs_.end() && at->second.pending.count(pod_uid) > 0) {
    at->second.assumed.insert(pod_uid);
  }
}

void ForeignGangs::forget(const std::string& gang, const std::string& pod_uid) {
  const auto at = gangs_.find(gang);
  if (at != gangs_.end()) at->second.assumed.erase(pod_uid);
}

// ---- queries

bool ForeignGangs::is_pending(const std::string& gang, const std::string& pod_uid) const {
  const auto at = gangs_.find(gang);
  return at != gangs_.end() && at->second.pending.count(pod_uid) > 0;
}

planner::ForeignCounts ForeignGangs::compute_counts(const Gang& gang) {
  planner::ForeignCounts counts = gang.counts;
  const auto assumed = static_cast<std::int64_t>(gang.assumed.size());
  counts.pending = static_cast<std::int64_t>(gang.pending.size()) - assumed;
  counts.bound += assumed;
  return counts;
}

planner::ForeignPodSeen ForeignGangs::seen(const std::string& gang) const {
  planner::ForeignPodSeen seen;
  seen.is_kind_missing = is_kind_missing_;
  const auto at = gangs_.find(gang);
  if (at == gangs_.end()) return seen;
  seen.counts = compute_counts(at->second);
  if (!at->second.group) return seen;
  seen.is_found = true;
  seen.min_member = at->second.group->min_member;
  seen.message = at->second.message;
  return seen;
}

planner::ForeignHoldSeen ForeignGangs::hold(const std::string& gang) const {
  planner::ForeignHoldSeen seen;
  const auto at = gangs_.find(gang);
  if (at == gangs_.end() || !at->second.group) return seen;
  seen.group = at->second.group;
  seen.needed = compute_counts(at->second).needed(seen.group->min_member);
  for (const auto& [uid, pod] : at->second.pending) {
    if (pod->nominated_node.empty() || at->second.assumed.count(uid) > 0) continue;
    seen.nominated.emplace(uid, pod->nominated_node);
  }
  return seen;
}

void ForeignGangs::limit_use(const Gang& gang, const NodeTable& nodes,
                             planner::ForeignGangSeen& seen) {
  for (const std::string& node : nodes.overused()) {
    const auto used = gang.used_on.find(node);
    if (used == gang.used_on.end()) continue;
    const kube::Resources limited = nodes.limit_to_node(node, used->second);
    if (const auto shown = seen.used_on.find(node); shown != seen.used_on.end()) {
      shown->second = limited;
    }
    for (const auto& [resource, amount] : used->second.amounts()) {
      std::int64_t excess = amount - limited.get(resource);
      for (kube::Resources* requests : {&seen.ending_requests, &seen.bound_requests}) {
        const std::int64_t less = std::min(excess, requests->get(resource));
        requests->set(resource, requests->get(resource) - less);
        excess -= less;
      }
    }
  }
}

std::vector<planner::ForeignGangSeen> ForeignGangs::all(const VolumeStores& volumes,
                                                        const NodeTable& nodes,
                                                        bool with_nodes) const {
  std::vector<planner::ForeignGangSeen> found;
  for (const auto& [key, gang] : gangs_) {
    if (!gang.group || !gang.had_pods) continue;
    planner::ForeignGangSeen& seen =
        found.emplace_back(planner::ForeignGangSeen{gang.group,
                                                    {},
                                                    compute_counts(gang),
                                                    gang.bound_requests,
                                                    gang.ending_requests,
                                                    {},
                                                    gang.owner,
                                                    gang.whole_with,
                                                    gang.whole_requests});
    seen.lost_requests -= gang.bound_requests;
    if (with_nodes) seen.used_on = gang.used_on;
    limit_use(gang, nodes, seen);
    for (const auto& [uid, pod] : gang.pending) {
      if (gang.assumed.count(uid) > 0) {
        seen.bound_requests += pod->requests;
        seen.lost_requests -= pod->requests;
        if (with_nodes) seen.used_on[pod->nominated_node.str()] += pod->requests;
        continue;
      }
      VolumesUsed used;
      Json terms = mounts_claims(*pod)
                       ? volume_terms(pod->detail->claims, pod->meta.ns, volumes, used)
                       : Json();
      seen.pending.push_back({pod, std::move(terms)});
    }
    std::sort(seen.pending.begin(), seen.pending.end(), comes_first);
  }
  return found;
}

}  // namespace nervex::extender
