// extender/observe/parts/matching_pods.h - how many pods has each node that topology spread
// constraints count? A part of the cluster cache.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "extender/observe/parts/node_table.h"
#include "gang/objects.h"
#include "kube/cache/store.h"
#include "kube/model/topology_spread.h"

namespace nervex::extender {

// Bound pods of all owners, by the selectors of gangs that are known: on a node each of them uses
// one of the selector's counter (kube::PodSelector). As in kube-scheduler, pods that are finished
// or being deleted do not count. Not thread-safe.
class MatchingPods {
 public:
  // A namespace has no more: users decide how many selectors there are, and each change of a pod
  // asks all of its namespace. Pods of further ones count only within their own gang.
  static constexpr std::size_t kMaxSelectors = 64;

  MatchingPods(NodeTable& nodes, const kube::Store<kube::Pod>& pods) : nodes_(nodes), pods_(pods) {}

  // `owner`, a PodGroup or pod by its UID, has these selectors from now on. Cost of a selector that
  // is new: one look at all pods.
  void set_selectors(const std::string& owner, std::vector<kube::PodSelector> selectors);
  // True if a node has more or fewer matching pods now. Cost: selectors of the pod's namespace.
  bool pod_changed(const kube::PodPtr& before, const kube::PodPtr& after);
  // A pod uses this once it is bound: its requests, and counters.
  kube::Resources list_use(const kube::Pod& pod) const;

 private:
  using Mask = std::bitset<kMaxSelectors>;  // of Namespace::counters
  struct Counter {
    std::size_t owners = 0;  // 0: free for another selector
    kube::PodSelector pods;
    kube::LabelSelector selector;
  };
  struct Counted {
    std::string node;
    Mask in;
  };
  struct Namespace {
    std::array<Counter, kMaxSelectors> counters;
    std::map<std::string, Counted, std::less<>> pods;  // by UID; those that count
    std::size_t selectors = 0;
  };
  static Mask find_matching(const Namespace& ns, const kube::Pod& pod);
  static kube::Resources make_amounts(const Namespace& ns, const Mask& mask);
  // False: the namespace has kMaxSelectors others, or the selector matches no pod.
  bool add(const kube::PodSelector& pods);
  void remove(const kube::PodSelector& pods);
  // The pod counts so. True if it did not.
  bool set(Namespace& ns, const std::string& uid, const Counted& now);

  NodeTable& nodes_;
  const kube::Store<kube::Pod>& pods_;
  std::map<std::string, Namespace, std::less<>> by_namespace_;
  std::map<std::string, std::vector<kube::PodSelector>, std::less<>> by_owner_;
};

}  // namespace nervex::extender
