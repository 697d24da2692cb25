// extender/observe/pods.h - what is kept of a pod, and how is one read at the API server?
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "extender/decide/foreign_view.h"
#include "kube/api.h"
#include "kube/model/pod.h"

namespace nervex::extender {

// The cache keeps of each pod the annotations of its slot, and the label of its foreign PodGroup.
const kube::PodFilter& pod_filter();

// The live pod. kNotFound also if the name belongs to another UID by now.
Result<kube::Pod> read_pod(kube::Api& api, const std::string& ns, const std::string& name,
                           const std::string& uid);

// Pods that kube-scheduler was given a node for before our own watch brought them: the bind that
// comes next needs no GET. Thread-safe. Keeps at most `kMost` pods, then begins anew: a GET makes
// up for what is forgotten.
class UnwatchedPods {
 public:
  static constexpr std::size_t kMost = 4096;

  void add(PodPtr pod);
  PodPtr take(const std::string& uid);  // null: not there

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, PodPtr> by_uid_;
};

}  // namespace nervex::extender
