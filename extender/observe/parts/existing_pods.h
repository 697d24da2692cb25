// extender/observe/parts/existing_pods.h - for which slots is there a pod, bound or not?
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gang/slot.h"
#include "kube/model/resources.h"

namespace nervex::extender {

// By PodGroup UID and the pods' namespace: a pod cannot speak for a PodGroup of another namespace.
class ExistingPods {
 public:
  struct Pods {  // of one slot
    std::multiset<std::int64_t> placements;
    kube::Resources requests;  // of a pod seen before it was bound
  };
  using BySlot = std::map<std::pair<std::string, int>, Pods>;  // by role and ordinal

  void add(const std::string& ns, const gang::PodSlot& slot);
  void remove(const std::string& ns, const gang::PodSlot& slot);
  void set_requests(const std::string& ns, const gang::PodSlot& slot,
                    const kube::Resources& requests);
  // Null: none.
  const BySlot* find(const std::string& group_uid, const std::string& ns) const;

 private:
  std::map<std::pair<std::string, std::string>, BySlot> pods_;
};

}  // namespace nervex::extender
