// extender/decide/ledger.h - what is still free on each node while plans are made and checked?
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "extender/decide/view.h"
#include "gang/pod_group.h"
#include "placement/cluster.h"

namespace nervex::extender {

// Not thread-safe: lives within one decision. Cost per call: log(nodes).
class Ledger {
 public:
  explicit Ledger(placement::Cluster nodes, std::vector<Nominated> nominated = {});

  // From now on it is asked for something of this priority: of nominated pods those count that have
  // the same one or a higher one. Before the first call none does. Cost: those between this
  // priority and the one before.
  void count_for(int priority);

  // kConflict, with a reason for people, unless the node exists, allows such a pod and has capacity
  // for one more.
  Result<Nothing> check(const gang::MemberSet& set, std::string_view node) const;
  bool fits(const gang::MemberSet& set, std::string_view node) const;
  // It exists, and any pod may go there, capacity and the pod's own wishes aside.
  bool is_plain(std::string_view node) const;
  // "": the node exists and may take such a pod, capacity aside. Else why not, for people:
  // "node n1 is cordoned".
  std::string objection(const gang::MemberSet& set, std::string_view node) const;
  // Unknown nodes are ignored: no gang can be placed on them.
  void take(const gang::MemberSet& set, std::string_view node);
  void give_back(const gang::MemberSet& set, std::string_view node);
  // For a moment: the caller takes it again, or calls note_dropped_plan().
  void lend(const gang::MemberSet& set, std::string_view node);
  // There is capacity for one that is counted there already, and for the others.
  bool has_capacity_for_its_own(const gang::MemberSet& set, std::string_view node);
  // More is free than the nodes' spare capacity shows: something was given back, or a plan that is
  // not committed, whose placements are never taken here at first, was dropped.
  bool has_given_back() const { return has_given_back_; }
  void note_dropped_plan() { has_given_back_ = true; }
  // The halves of fits(): capacity for one more; the node allows such a pod. False: no such node.
  bool has_capacity(const gang::MemberSet& set, std::string_view node) const;
  bool is_allowed(const gang::MemberSet& set, std::string_view node) const;

  const placement::Cluster& nodes() const { return nodes_; }

 private:
  // The resource of a set's pods that one on another node has taken from all that share with this
  // one (kube/model/anti_affinity.h); empty: none. Cost for such pods: nodes.
  std::string_view shared_and_taken(const gang::MemberSet& set, std::size_t node) const;

  placement::Cluster nodes_;
  std::vector<Nominated> nominated_;  // the highest priority first
  std::size_t counted_ = 0;           // of them: are taken from nodes_
  bool has_given_back_ = false;
};

}  // namespace nervex::extender
