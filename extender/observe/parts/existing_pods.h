// extender/observe/parts/existing_pods.h - for which slots is there a pod, bound or not?
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "gang/slot.h"
#include "kube/model/resources.h"

namespace nervex::extender {

// By PodGroup UID and origin: a pod of another origin does not count (gang/slot.h).
class ExistingPods {
 public:
  struct Pods {  // of one slot
    std::multiset<std::int64_t> placements;
    kube::Resources requests;  // of a pod seen before it was bound
  };
  using BySlot = std::map<std::pair<std::string, int>, Pods>;  // by role and ordinal

  void add(const gang::Origin& pod, const gang::PodSlot& slot);
  void remove(const gang::Origin& pod, const gang::PodSlot& slot);
  void set_requests(const gang::Origin& pod, const gang::PodSlot& slot,
                    const kube::Resources& requests);
  // Null: none.
  const BySlot* find(const kube::Meta& group) const;

 private:
  // PodGroup UID, namespace, owner's UID.
  using Key = std::tuple<std::string, std::string, std::string>;
  static Key make_key(const std::string& group_uid, const gang::Origin& origin);

  std::map<Key, BySlot> pods_;
};

}  // namespace nervex::extender
