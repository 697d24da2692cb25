#include "extender/observe/parts/orphaned_pods.h"

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

// "": it belongs to no gang, or does not occupy a node.
std::string find_gang_key(const PodPtr& pod) {
  if (!pod || !pod->occupies()) return "";
  const std::string& uid = kube::annotation(pod->meta, gang::kPodGroupUidAnnotation);
  return uid.empty() ? foreign_gang_name(*pod) : make_key(pod->meta.ns.str(), uid);
}

}  // namespace

bool OrphanedPods::pod_changed(const PodPtr& before, const PodPtr& after) {
  const std::string was = find_gang_key(before);
  const std::string is = find_gang_key(after);
  const bool is_same_use = was == is && before && after && before->meta.uid == after->meta.uid &&
                           before->node == after->node && before->requests == after->requests;
  bool is_any_orphaned = false;
  if (!was.empty()) {
    const auto at = gangs_.find(was);
    is_any_orphaned = at->second.is_orphaned();
    at->second.pods.erase(before->meta.uid);
    if (was != is) update(at);
  }
  if (!is.empty()) {
    const auto at = gangs_.try_emplace(is).first;
    at->second.pods.emplace(after->meta.uid, after);
    is_any_orphaned = is_any_orphaned || at->second.is_orphaned();
    update(at);
  }
  return is_any_orphaned && !is_same_use;
}

void OrphanedPods::set_group(std::string_view ns, std::string_view id, bool exists) {
  const auto at = gangs_.try_emplace(make_key(ns, id)).first;
  at->second.has_group = exists;
  update(at);
}

void OrphanedPods::update(Gangs::iterator at) {
  if (at->second.is_orphaned()) {
    orphaned_.insert(at->first);
    return;
  }
  orphaned_.erase(at->first);
  if (!at->second.has_group) gangs_.erase(at);
}

std::vector<queue::Workload> OrphanedPods::list_workloads(
    const queue::FindClass& find_class) const {
  std::vector<queue::Workload> workloads;
  workloads.reserve(orphaned_.size());
  for (const std::string& key : orphaned_) {
    queue::Workload& workload = workloads.emplace_back();
    workload.id = key;
    workload.state = queue::Workload::State::kRunning;
    for (const auto& [uid, pod] : gangs_.find(key)->second.pods) {
      workload.ns = pod->meta.ns.str();
      workload.queue = kube::annotation(pod->meta, gang::kQueueAnnotation);
      queue::add_requests(workload.requests, pod->requests);
      queue::add_requests(workload.class_requests, find_class(pod->node.str()), pod->requests);
    }
  }
  return workloads;
}

}  // namespace nervex::extender
