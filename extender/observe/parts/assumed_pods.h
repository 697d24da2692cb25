// extender/observe/parts/assumed_pods.h - which pods are being bound, and may their capacity be
// freed?
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "extender/observe/parts/foreign_gangs.h"
#include "extender/observe/parts/node_table.h"
#include "gang/slot.h"
#include "kube/cache/store.h"

namespace nervex::extender {

// A pod is assumed from its bind call until it is seen bound or deleted, or is missing in a later
// list of all pods. Meanwhile its capacity is reserved, even if its placement is released.
class AssumedPods {
 public:
  struct Pod {
    gang::PodSlot slot;
    std::string ns;
    std::string name;
    std::string node;
    kube::Resources requests;
    std::string foreign_gang{};  // its foreign gang; such a pod has no slot
  };
  struct Named {  // `slot` is Pod::slot
    std::string uid;
    gang::PodSlot slot;
  };
  // A bind that ended without an answer: it may be stored, now or later.
  struct Unconfirmed {
    gang::PodSlot slot;
    std::string ns;
    std::string pod;
    std::string uid;
    MonoTime since{};
  };

  AssumedPods(NodeTable& nodes, ForeignGangs& foreign) : nodes_(nodes), foreign_(foreign) {}

  // Adding the same pod again restarts its bind.
  void add(const std::string& uid, Pod pod);
  void forget(const std::string& uid);
  bool is_assumed(const std::string& uid, const std::string& node) const;

  void list_begins() { ++lists_; }
  // Those that the list lacks and that were assumed before it began.
  std::vector<Named> find_missing(const kube::Store<kube::Pod>& listed) const;
  std::vector<Named> find_group(const std::string& group_uid) const;

  void note_unconfirmed(const std::string& uid, MonoTime now);
  std::vector<Unconfirmed> unconfirmed() const;
  // No other bind of the pod has begun since.
  bool is_latest(const Unconfirmed& bind) const;

 private:
  struct Entry {
    Pod pod;
    int list = 0;  // number of pod lists that had begun
    std::optional<MonoTime> unconfirmed_since{};
  };
  NodeTable& nodes_;
  ForeignGangs& foreign_;
  int lists_ = 0;  // that have begun
  std::map<std::string, Entry> pods_;
};

}  // namespace nervex::extender
