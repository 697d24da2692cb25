// extender/observe/parts/terminating_pods.h - which pods still occupy nodes while they are being
// deleted? A part of the cluster cache.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gang/objects.h"
#include "kube/model/objects.h"

namespace nervex::extender {

// Of all owners. Not thread-safe. Cost of a change: nothing, unless the pod is being deleted.
class TerminatingPods {
 public:
  void pod_changed(const kube::PodPtr& before, const kube::PodPtr& after) {
    if (is_terminating(before)) pods_.erase(before->meta.uid);
    if (is_terminating(after)) pods_.insert_or_assign(after->meta.uid, after);
  }
  std::vector<kube::PodPtr> list() const {
    std::vector<kube::PodPtr> pods;
    pods.reserve(pods_.size());
    for (const auto& [uid, pod] : pods_) pods.push_back(pod);
    return pods;
  }

 private:
  static bool is_terminating(const kube::PodPtr& pod) {
    return pod && pod->meta.deleting && pod->occupies();
  }

  std::map<std::string, kube::PodPtr> pods_;  // by UID
};

}  // namespace nervex::extender
