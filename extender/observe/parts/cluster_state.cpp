#include "extender/observe/parts/cluster_state.h"

#include <utility>

namespace nervex::extender {

namespace {

std::vector<kube::PodSelector> list_selectors(const gang::PodGroup& group) {
  std::vector<kube::PodSelector> selectors;
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    for (const kube::TopologySpread& spread : set.shape.spread) selectors.push_back(spread.pods);
  }
  return selectors;
}

}  // namespace

void ClusterState::group_changed(const std::string& key) {
  MutexLock lock(mutex);
  // Read under our lock: the last caller has read the store's last state.
  const gang::PodGroupPtr group = store.get(key);
  if (const auto deleted = groups.erase_replaced(key, group)) {
    orphaned.erase_group(std::string_view(key).substr(0, key.find('/')), *deleted);
    pods.erase_group(*deleted);
    matching.set_selectors(*deleted, {});
    // The pods that were being bound for it are deleted next.
    for (const auto& [uid, slot] : assumed.find_group(*deleted)) release_assumed(slot, uid);
    commit_ended.notify_all();
  }
  if (!group) return;
  pods.set_group(group->meta);
  matching.set_selectors(group->meta.uid, list_selectors(*group));
  groups.set(key, group);
  orphaned.set_group(*groups.find(group->meta.uid)->group());
}

void ClusterState::fold(gang::PodGroup group) {
  const std::string key = group.meta.key();
  const std::string uid = group.meta.uid;
  store.update(key, std::move(group));
  group_changed(key);
  observe_fold(uid);
}

void ClusterState::release_assumed(const gang::PodSlot& slot, const std::string& pod_uid) {
  pods.forget(slot, pod_uid);
  assumed.forget(pod_uid);
  groups.refresh_slot(slot);
}

}  // namespace nervex::extender
