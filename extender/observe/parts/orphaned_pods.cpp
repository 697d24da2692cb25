#include "extender/observe/parts/orphaned_pods.h"

#include <algorithm>
#include <utility>

#include "extender/observe/parts/foreign_gangs.h"
#include "gang/slot.h"

namespace nervex::extender {
namespace {

std::string make_key(std::string_view ns, std::string_view id) {
  std::string key(ns);
  key += '/';
  return key += id;
}

// The key of another operator's PodGroup. Not even a forged UID makes it the key of one of ours.
std::string make_foreign_key(std::string_view key) { return "/" + std::string(key); }

// "": it belongs to no gang, or does not occupy a node.
std::string find_gang_key(const kube::PodPtr& pod) {
  if (!pod || !pod->occupies()) return "";
  const std::string& uid = kube::annotation(pod->meta, gang::kPodGroupUidAnnotation);
  if (!uid.empty()) return make_key(pod->meta.ns.str(), uid);
  const std::string gang = foreign_gang_name(*pod);
  return gang.empty() ? gang : make_foreign_key(gang);
}

bool is_plain_use(const kube::PodPtr& pod) { return pod && pod->occupies() && is_plain(*pod); }

const std::string& named_queue(const kube::Pod& pod) {
  return kube::annotation(pod.meta, gang::kQueueAnnotation);
}

}  // namespace

bool OrphanedPods::Gang::is_orphaned(const GangPod& pod) const {
  return !accounts_for_all && !(has(pod) && queue::contains(counted, pod.role, pod.ordinal));
}

bool OrphanedPods::pod_changed(const kube::PodPtr& before, const kube::PodPtr& after) {
  const bool is_plain_changed = plain_pod_changed(before, after);
  return gang_pod_changed(before, after) || is_plain_changed;
}

bool OrphanedPods::plain_pod_changed(const kube::PodPtr& before, const kube::PodPtr& after) {
  const bool was = is_plain_use(before);
  const bool is = is_plain_use(after);
  if (was && is && before->node == after->node && before->requests == after->requests) return false;
  if (was) count_plain(*before, false);
  if (is) count_plain(*after, true);
  return was || is;
}

void OrphanedPods::count_plain(const kube::Pod& pod, bool adds) {
  const auto at = plain_.try_emplace(pod.meta.ns.str()).first;
  PlainUse& use = at->second;
  kube::Resources& on_node = use.by_node[pod.node.str()];
  for (kube::Resources* sum : {&use.total, &on_node}) {
    adds ? * sum += pod.requests : * sum -= pod.requests;
  }
  if (on_node.empty()) use.by_node.erase(pod.node.str());
  if (use.by_node.empty()) plain_.erase(at);
}

bool OrphanedPods::gang_pod_changed(const kube::PodPtr& before, const kube::PodPtr& after) {
  const std::string was = find_gang_key(before);
  const std::string is = find_gang_key(after);
  const bool is_same_use = was == is && before && after && before->meta.uid == after->meta.uid &&
                           before->node == after->node && before->requests == after->requests &&
                           named_queue(*before) == named_queue(*after) &&
                           gang::Origin(before->meta) == gang::Origin(after->meta);
  bool is_any_orphaned = false;
  if (!was.empty()) {
    const auto at = gangs_.find(was);
    Gang& gang = at->second;
    const auto pod = gang.pods.find(before->meta.uid);
    if (gang.is_orphaned(pod->second)) {
      is_any_orphaned = true;
      --gang.orphaned;
    }
    gang.pods.erase(pod);
    index(at);
  }
  if (!is.empty()) {
    const auto at = gangs_.try_emplace(is).first;
    Gang& gang = at->second;
    const auto slot = gang::pod_slot(*after);
    const GangPod pod{after, slot ? slot->role : std::string(), slot ? slot->slot.ordinal : 0};
    if (gang.is_orphaned(pod)) {
      is_any_orphaned = true;
      ++gang.orphaned;
    }
    gang.pods.emplace(after->meta.uid, pod);
    index(at);
  }
  return is_any_orphaned && !is_same_use;
}

void OrphanedPods::set_group(const gang::PodGroup& group) {
  const auto at = gangs_.try_emplace(make_key(group.meta.ns.str(), group.meta.uid)).first;
  at->second.origin.emplace(group.meta);
  at->second.place = group.status.queue;
  at->second.counted = queue::list_counted_slots(group);
  group_changed(at);
}

void OrphanedPods::erase_group(std::string_view ns, std::string_view uid) {
  const auto at = gangs_.find(make_key(ns, uid));
  if (at == gangs_.end()) return;
  at->second.origin.reset();
  at->second.counted.clear();
  group_changed(at);
}

void OrphanedPods::set_foreign_group(std::string_view ns, std::string_view name, bool exists) {
  const auto at = gangs_.try_emplace(make_foreign_key(make_key(ns, name))).first;
  at->second.accounts_for_all = exists;
  group_changed(at);
}

void OrphanedPods::group_changed(Gangs::iterator at) {
  Gang& gang = at->second;
  gang.orphaned = std::count_if(gang.pods.begin(), gang.pods.end(),
                                [&](const auto& pod) { return gang.is_orphaned(pod.second); });
  index(at);
}

void OrphanedPods::index(Gangs::iterator at) {
  const Gang& gang = at->second;
  if (gang.orphaned > 0) {
    orphaned_.insert(at->first);
    return;
  }
  orphaned_.erase(at->first);
  if (gang.pods.empty() && !gang.accounts_for_all && !gang.origin) gangs_.erase(at);
}

std::string OrphanedPods::find_home(const Gang& gang, const GangPod& pod,
                                    const QueueFacts& queues) {
  const std::string ns = pod.pod->meta.ns.str();
  if (gang.has(pod) && !gang.place.name.empty()) return queues.find_home(gang.place, ns);
  return queues.find_home_of_pods(named_queue(*pod.pod), ns);
}

queue::Workload OrphanedPods::make_workload(const std::string& ns, const PlainUse& use,
                                            const QueueFacts& queues, const NodeTable& nodes) {
  queue::Workload workload;
  workload.id = ns + "/";
  workload.ns = ns;
  workload.state = queue::Workload::State::kRunning;
  workload.queue = queues.find_home_of_pods("", ns);
  queue::add_requests(workload.requests, use.total);
  for (const std::string& node : nodes.overused()) {
    const auto used = use.by_node.find(node);
    if (used == use.by_node.end()) continue;
    queue::add_requests(workload.requests, used->second, -1);
    queue::add_requests(workload.requests, nodes.limit_to_node(node, used->second));
  }
  if (!queues.uses_classes()) return workload;
  for (const auto& [node, requests] : use.by_node) {
    queue::add_requests(workload.class_requests, queues.find_class(node),
                        nodes.limit_to_node(node, requests));
  }
  return workload;
}

std::vector<queue::Workload> OrphanedPods::list_workloads(const QueueFacts& queues,
                                                          const NodeTable& nodes) const {
  std::vector<queue::Workload> workloads;
  workloads.reserve(orphaned_.size() + plain_.size());
  for (const auto& [ns, use] : plain_) workloads.push_back(make_workload(ns, use, queues, nodes));
  for (const std::string& key : orphaned_) {
    const Gang& gang = gangs_.find(key)->second;
    std::map<std::string, std::map<std::string, kube::Resources>> used;  // by queue and node
    std::string ns;
    for (const auto& [uid, one] : gang.pods) {
      if (!gang.is_orphaned(one)) continue;
      ns = one.pod->meta.ns.str();
      used[find_home(gang, one, queues)][one.pod->node.str()] += one.pod->requests;
    }
    std::string id = key;
    for (const auto& [queue, by_node] : used) {
      queue::Workload& workload = workloads.emplace_back();
      workload.id = id;
      workload.ns = ns;
      workload.state = queue::Workload::State::kRunning;
      workload.queue = queue;
      for (const auto& [node, requests] : by_node) {
        const kube::Resources limited = nodes.limit_to_node(node, requests);
        queue::add_requests(workload.requests, limited);
        queue::add_requests(workload.class_requests, queues.find_class(node), limited);
      }
      id = key + "/" + std::to_string(workloads.size());
    }
  }
  return workloads;
}

}  // namespace nervex::extender
