// tests/cluster/view.h - what is the API server's current state, decoded once per version?
//
// Separate code: what a simulation counts and compares must not come from the programs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gang/pod_group.h"
#include "gang/slot.h"
#include "tests/support/fake_api.h"

namespace nervex::testing {

// By resource: cpu in thousandths, everything else in ones.
using Sums = std::map<std::string, std::int64_t>;

struct PodSeen {
  std::string name;
  std::string uid;
  std::string version;
  std::string node;  // empty: not bound
  std::string phase;
  std::string reason;
  bool deleting = false;
  bool node_lost = false;  // marked by the extender
  bool has_begun = false;  // its kubelet has started it: status.startTime
  std::string refusal;     // reason of PodScheduled=False
  std::string scheduler;   // spec.schedulerName
  std::string pinned_to;   // the only node that its affinity allows; empty: any
  std::optional<gang::PodSlot> slot;
  Sums requests;
  int port = 0;  // of the host
  std::vector<std::string> claims;

  bool is_bound() const { return !node.empty(); }
  bool is_finished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool occupies() const { return is_bound() && !is_finished(); }
  // Stopped by its kubelet or an eviction.
  bool was_taken_away() const { return phase == "Failed" && !reason.empty(); }
};

struct NodeSeen {
  std::string name;
  std::string version;
  std::string zone;
  bool ready = false;
  bool cordoned = false;
  bool tainted = false;
  Sums allocatable;

  // Capacity aside.
  bool lets_in() const { return ready && !cordoned && !tainted; }
};

class View {
 public:
  explicit View(const FakeApi& api) : api_(api) {}

  void refresh();
  std::int64_t version() const { return version_; }  // the API server's, at the last refresh()
  const std::map<std::string, PodSeen>& pods() const { return pods_; }             // by UID
  const std::map<std::string, gang::PodGroup>& groups() const { return groups_; }  // by UID
  const std::map<std::string, NodeSeen>& nodes() const { return nodes_; }          // by name
  const PodSeen* pod(const std::string& uid) const;
  const NodeSeen* node(const std::string& name) const;

  // allocatable - pods that occupy the node and for which `counts` holds.
  template <typename Counts>
  Sums left_on(const NodeSeen& node, const Counts& counts) const {
    Sums left = node.allocatable;
    for (const auto& [uid, pod] : pods_) {
      if (pod.node != node.name || !pod.occupies() || !counts(pod)) continue;
      for (const auto& [name, amount] : pod.requests) left[name] -= amount;
    }
    return left;
  }

 private:
  const FakeApi& api_;
  std::int64_t version_ = -1;
  std::map<std::string, PodSeen> pods_;
  std::map<std::string, gang::PodGroup> groups_;
  std::map<std::string, NodeSeen> nodes_;
};

bool is_wanted(const gang::PodGroup& group, std::string_view role, gang::SlotId slot);

}  // namespace nervex::testing
