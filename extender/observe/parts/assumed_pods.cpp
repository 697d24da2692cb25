#include "extender/observe/parts/assumed_pods.h"

#include <utility>

namespace nervex::extender {

void AssumedPods::add(const std::string& uid, Pod pod) {
  const auto [at, is_new] = pods_.try_emplace(uid, Entry{std::move(pod), lists_});
  at->second.unconfirmed_since.reset();
  if (!is_new) return;
  const Pod& added = at->second.pod;
  nodes_.reserve(added.node, added.requests, true);
  if (!added.foreign_gang.empty()) foreign_.assume(added.foreign_gang, uid);
}

void AssumedPods::forget(const std::string& uid) {
  const auto at = pods_.find(uid);
  if (at == pods_.end()) return;
  const Pod& pod = at->second.pod;
  nodes_.release(pod.node, pod.requests, true);
  foreign_.forget(pod.foreign_gang, uid);
  pods_.erase(at);
}

bool AssumedPods::is_assumed(const std::string& uid, const std::string& node) const {
  const auto at = pods_.find(uid);
  return at != pods_.end() && at->second.pod.node == node;
}

auto AssumedPods::find_missing(const kube::Store<kube::Pod>& listed) const -> std::vector<Named> {
  std::vector<Named> missing;
  for (const auto& [uid, entry] : pods_) {
    const kube::PodPtr pod = listed.get(entry.pod.ns + "/" + entry.pod.name);
    const bool is_there = pod && pod->meta.uid == uid;
    if (!is_there && entry.list < lists_) missing.push_back({uid, entry.pod.slot});
  }
  return missing;
}

auto AssumedPods::find_group(const std::string& group_uid) const -> std::vector<Named> {
  std::vector<Named> found;
  for (const auto& [uid, entry] : pods_) {
    if (entry.pod.slot.pod_group_uid == group_uid) found.push_back({uid, entry.pod.slot});
  }
  return found;
}

void AssumedPods::note_unconfirmed(const std::string& uid, MonoTime now) {
  const auto at = pods_.find(uid);
  if (at != pods_.end()) at->second.unconfirmed_since = now;
}

auto AssumedPods::unconfirmed() const -> std::vector<Unconfirmed> {
  std::vector<Unconfirmed> found;
  for (const auto& [uid, entry] : pods_) {
    const auto& [pod, list, since] = entry;
    if (since) found.push_back({pod.slot, pod.ns, pod.name, uid, *since});
  }
  return found;
}

bool AssumedPods::is_latest(const Unconfirmed& bind) const {
  const auto at = pods_.find(bind.uid);
  return at != pods_.end() && at->second.unconfirmed_since == bind.since;
}

}  // namespace nervex::extender
