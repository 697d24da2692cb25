// planner/gang/ledger.h - what is still free on each node while plans are made and checked?
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gang/pod_group.h"
#include "placement/capacity.h"
#include "placement/cluster.h"
#include "planner/facts/snapshot.h"

namespace nervex::planner {

// Not thread-safe: lives within one decision. Cost per call: log(nodes).
class Ledger {
 public:
  explicit Ledger(placement::Cluster nodes, std::vector<Nominated> nominated = {});

  // Counts for requests of this priority from now on: nominated pods with the same or a higher
  // priority are subtracted. Before the first call none is. Cost: the nominated pods between the
  // previous priority and this one.
  void count_for(int priority);

  // kConflict, with a reason for people, unless the node exists, allows such a pod and has capacity
  // for one more.
  Result<Nothing> check(const gang::MemberSet& set, std::string_view node) const;
  bool fits(const gang::MemberSet& set, std::string_view node) const;
  // "": the node exists and accepts such a pod, capacity aside. Otherwise the reason, for people:
  // "node n1 is cordoned".
  std::string objection(const gang::MemberSet& set, std::string_view node) const;
  // Unknown nodes are ignored: no gang can be placed on them.
  void take(const gang::MemberSet& set, std::string_view node);
  void give_back(const gang::MemberSet& set, std::string_view node);
  // Adds capacity. In the ledger of the cycle the caller has just taken it, takes it again, or
  // calls note_dropped_plan(). In a copy that shows what will be free, it stays.
  void lend(const gang::MemberSet& set, std::string_view node) { lend(set.shape.requests, node); }
  void lend(const kube::Resources& requests, std::string_view node);
  // Subtracts capacity that the gang which is planned may not use, and adds it again with `times`
  // below zero. Changes neither gains() nor has_given_back().
  void hold(const kube::Resources& amount, std::string_view node, int times = 1);
  // A pod of the set is not going to be on the node, whose capacity stays subtracted: topology
  // spread constraints do not count it there.
  void stop_counting(const gang::MemberSet& set, std::string_view node);
  void count_again(const gang::MemberSet& set, std::string_view node);
  // The node has capacity for one pod that is already counted there, and for the others.
  bool has_capacity_for_its_own(const gang::MemberSet& set, std::string_view node);
  // Counts up with each change.
  std::size_t changes() const { return changes_; }
  // More is free than the nodes' spare capacity shows: capacity was given back, or an uncommitted
  // plan, which is never taken here at first, was dropped.
  bool has_given_back() const { return has_given_back_; }
  // Counts up whenever a node may have more than before.
  std::size_t gains() const { return gains_; }
  void note_dropped_plan() { has_given_back_ = true; }
  // Two of the three checks of fits(): the node has capacity for one more pod; it allows such a
  // pod. False: there is no such node. The third check is is_taken_nearby().
  bool has_capacity(const gang::MemberSet& set, std::string_view node) const;
  bool is_allowed(const gang::MemberSet& set, std::string_view node) const;
  // A pod with these requests keeps apart from one that runs on a node near this one: in its zone.
  bool is_taken_nearby(const kube::Resources& requests, std::size_t node) const {
    return !shared_and_taken(requests, node).empty();
  }

  const placement::Cluster& nodes() const { return nodes_; }
  // The value of the node's label; "": it has none, or there is no such node.
  std::string_view label(std::string_view node, std::string_view name) const;
  // Subtracts pods on that node from the limits of the node's groups.
  void use_up(std::vector<placement::GroupLimit>& limits, const kube::Resources& requests,
              std::string_view node, int pods = 1) const;
  // The limits allow one more pod there.
  bool is_within(const std::vector<placement::GroupLimit>& limits, const kube::Resources& requests,
                 std::string_view node) const;

 private:
  // The resource among these requests that a pod on another node has taken from all nodes that
  // share it with this one (kube/model/anti_affinity.h); empty: none. Cost for such pods: nodes.
  std::string_view shared_and_taken(const kube::Resources& requests, std::size_t node) const;

  placement::Cluster nodes_;
  std::vector<Nominated> nominated_;  // highest priority first
  std::size_t counted_ = 0;           // of nominated_: subtracted from nodes_
  bool has_given_back_ = false;
  std::size_t gains_ = 0;
  std::size_t changes_ = 0;
};

}  // namespace nervex::planner
