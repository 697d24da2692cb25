#include "tests/extender/kube_scheduler.h"

#include <algorithm>

namespace nervex::testing {

using std::chrono::seconds;

void KubeScheduler::report(const std::string& what) const {
  if (count) count(what);
}

std::vector<std::string> KubeScheduler::waiting() const {
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : cluster_.view.pods()) {
    const bool waits = pod.scheduler == gang::kSchedulerName && !pod.is_bound() && !pod.deleting;
    if (waits && assumed_on(pod).empty()) uids.push_back(uid);
  }
  return uids;
}

bool KubeScheduler::is_due(const std::string& uid) const {
  const auto not_before = not_before_.find(uid);
  return not_before == not_before_.end() || not_before->second <= cluster_.clock.mono();
}

std::string KubeScheduler::assumed_on(const PodSeen& pod) const {
  if (pod.is_bound()) return pod.occupies() ? pod.node : "";
  return extender_ ? extender_->held.bound_node(pod.uid) : "";
}

bool KubeScheduler::is_on(const PodSeen& pod, const NodeSeen& node, bool sees_assumed) const {
  return (sees_assumed ? assumed_on(pod) : pod.occupies() ? pod.node : "") == node.name;
}

std::string KubeScheduler::claim_zone(const std::string& claim) const {
  const Json object = cluster_.api.get(kube::kPersistentVolumeClaims, kNamespace, claim);
  const std::string volume = kube::string_at(object, {"spec", "volumeName"});
  return volume.empty() ? "" : volume.substr(volume.rfind('-') + 1);
}

bool KubeScheduler::is_port_free(const PodSeen& pod, const NodeSeen& node,
                                 bool sees_assumed) const {
  const auto& pods = cluster_.view.pods();
  return pod.port == 0 || std::none_of(pods.begin(), pods.end(), [&](const auto& entry) {
           return entry.second.port == pod.port && is_on(entry.second, node, sees_assumed);
         });
}

// NodeUnschedulable, TaintToleration, NodeAffinity, VolumeBinding, NodePorts, NodeResourcesFit.
bool KubeScheduler::plugins_allow(const PodSeen& pod, const NodeSeen& node,
                                  bool sees_assumed) const {
  if (!node.lets_in()) return false;
  if (!pod.pinned_to.empty() && pod.pinned_to != node.name) return false;
  for (const std::string& claim : pod.claims) {
    const std::string zone = claim_zone(claim);
    if (zone.empty() || zone == node.zone) continue;
    report("volume elsewhere");
    return false;
  }
  if (!is_port_free(pod, node, sees_assumed)) {
    report("port conflict");
    return false;
  }
  if (pod.slot && !options_.counts_gang_pods) return true;
  Sums left = node.allocatable;
  for (const auto& [uid, other] : cluster_.view.pods()) {
    if (!is_on(other, node, sees_assumed)) continue;
    for (const auto& [name, amount] : other.requests) left[name] -= amount;
  }
  return std::all_of(pod.requests.begin(), pod.requests.end(),
                     [&](const auto& one) { return left[one.first] >= one.second; });
}

// The first time says since when; a later reason is of the same condition.
void KubeScheduler::refuse(const PodSeen& pod, const std::string& reason) {
  if (pod.refusal == reason) return;
  const Json before = cluster_.api.get(kube::kPods, kNamespace, pod.name);
  const Json& conditions = kube::array_at(before, {"status", "conditions"});
  std::string since = to_rfc3339(cluster_.clock.now());
  for (const Json& condition : conditions) {
    if (condition["type"] == "PodScheduled" && condition["status"] == "False") {
      since = condition["lastTransitionTime"];
    }
  }
  const Json refusal = {{"status", "False"},
                        {"reason", reason},
                        {"message", "no node is available"},
                        {"lastTransitionTime", since}};
  report("refused: " + reason);
  cluster_.api.change(
      kube::kPods, kNamespace, pod.name,
      {{"status", {{"conditions", with_condition(conditions, "PodScheduled", refusal)}}}});
}

void KubeScheduler::retry_later(const std::string& uid) {
  if (!options_.backs_off) return;
  not_before_[uid] =
      cluster_.clock.mono() + std::min(seconds(1 << std::min(tries_[uid]++, 4)), seconds(10));
}

int KubeScheduler::finish_held() {
  int bound = 0;
  in_extender([&] {
    if (!extender_) return;
    for (const auto& [uid, result] : extender_->held.finish()) {
      tries_.try_emplace(uid, 0);
      look();
      if (result) {
        ++bound;
        report("pod bound");
        continue;
      }
      const std::string& error = result.error().message;
      if (error.find("cannot start now") != std::string::npos) report("commit rejected");
      if (error.find("did not come to be bound") != std::string::npos) report("held in vain");
      retry_later(uid);
      const PodSeen* pod = cluster_.view.pod(uid);
      if (pod != nullptr && !pod->is_bound() && pod->slot) refuse(*pod, "SchedulerError");
    }
  });
  look();
  return bound;
}

// VolumeBinding's PreBind: a claim that waited for its first consumer stays with that zone.
void KubeScheduler::bind_claims(const PodSeen& pod, const std::string& node) {
  for (const std::string& claim : pod.claims) {
    if (!claim_zone(claim).empty()) continue;
    report("claim bound late");
    const std::string volume = "volume-" + cluster_.view.node(node)->zone;
    cluster_.api.change(kube::kPersistentVolumeClaims, kNamespace, claim,
                        {{"spec", {{"volumeName", volume}}}});
  }
}

void KubeScheduler::try_pod(const std::string& uid) {
  const PodSeen* pod = cluster_.view.pod(uid);
  if (!extender_ || pod == nullptr || pod->is_bound() || pod->deleting) return;
  std::vector<std::string> names;
  for (const auto& [name, node] : cluster_.view.nodes()) {
    if (plugins_allow(*pod, node)) names.push_back(name);
  }
  kube::FilterResult result;
  if (!names.empty()) {
    const Json object = cluster_.api.get(kube::kPods, kNamespace, pod->name);
    const kube::FilterArgs args{*kube::decode_pod(kube::to_text(object), extender::pod_filter()),
                                names};
    result = planner::filter(args, extender::filter_view(extender_->cache.binds, args));
  }
  if (result.node_names.empty()) {
    retry_later(uid);
    if (pod->slot) refuse(*pod, result.error.empty() ? "Unschedulable" : "SchedulerError");
    return;
  }
  const std::string node = result.node_names[choose_index(result.node_names.size())];
  bind_claims(*pod, node);
  const kube::BindArgs bind{pod->name, kNamespace, uid, node};
  in_extender([&] { extender_->held.begin(bind); });
}

void KubeScheduler::restart() {
  if (extender_) extender_->held.lose_callers();
  not_before_.clear();
  tries_.clear();
}

void KubeScheduler::lose_extender() {
  if (!extender_) return;
  for (const auto& [uid, pod] : cluster_.view.pods()) {
    if (!extender_->held.bound_node(uid).empty()) retry_later(uid);
  }
}

}  // namespace nervex::testing
