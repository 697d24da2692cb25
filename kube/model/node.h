// kube/model/node.h - a node as a place for pods, and whether a pod may go there at all.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "kube/model/json.h"
#include "kube/model/resources.h"
#include "kube/model/shared.h"

namespace nervex::kube {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
  bool operator==(const Taint&) const = default;
};

struct Node {
  std::string name;
  std::string uid;
  std::string resource_version;
  StringMap labels;
  SharedVector<Taint> taints;
  bool unschedulable = false;
  bool ready = false;           // condition Ready is True
  bool is_unreachable = false;  // it is Unknown: nothing was heard of the kubelet
  SysTime ready_changed{};      // when that last changed, by the clock of the one who wrote it
  Resources allocatable;
  bool operator==(const Node&) const = default;
};

// Decodes one Node's JSON without a DOM. kInvalid if it is no object or lacks metadata.name.
Result<Node> decode_node(std::string_view json);

// The part of a pod spec that says which nodes are allowed, kept as the API writes it:
// nodeSelector, affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution, tolerations;
// and which of them are preferred: preferredDuringSchedulingIgnoredDuringExecution.
struct NodeConstraints {
  Json node_selector = Json::object();       // {key: value}
  Json node_selector_terms = Json::array();  // nodeSelectorTerms; ORed; empty: no demand
  Json tolerations = Json::array();
  Json preferred_terms = Json::array();  // [{weight, preference}]
  // Not of the pod spec: nodeSelectorTerms of each of its bound volumes; every one must be met.
  Json volume_terms = Json::array();
  bool operator==(const NodeConstraints&) const = default;
};
NodeConstraints constraints_of(const Json& pod_spec);

enum class NodeFit {
  kAllowed,
  kNotReady,
  kUnschedulable,
  kTainted,
  kNotSelected,
  kVolumeElsewhere,  // a bound volume cannot be used there
};

// For who judges many nodes by the same constraints, which may list thousands of values: they are
// looked up instead of read for each node. Borrows the constraints; the default one knows nothing.
class ConstraintIndex {
 public:
  ConstraintIndex() = default;
  explicit ConstraintIndex(const NodeConstraints& constraints);

  bool lists(const Json& values, const std::string& value) const;
  bool tolerates(const Json& tolerations, const Taint& taint) const;

 private:
  using Toleration = std::tuple<std::string, std::string, bool, std::string>;
  void add_term(const Json& term);
  void add_toleration(const Json& toleration);

  std::unordered_map<const Json*, std::unordered_set<std::string_view>> values_;
  std::optional<std::set<Toleration>> tolerations_;  // effect, key, any value?, value
};

// May a pod with these constraints go to this node, capacity aside? Rules of kube-scheduler 1.36
// (NodeUnschedulable, TaintToleration, NodeAffinity): In NotIn Exists DoesNotExist Gt Lt over
// labels, matchFields over metadata.name.
NodeFit judge(const Node& node, const NodeConstraints& constraints,
              const ConstraintIndex& index = {});

// What the pod itself asks of the node is met: nodeSelector, affinity and volumes. The part of
// judge() that no taint, cordon or outage changes.
bool selects(const NodeConstraints& constraints, const Node& node,
             const ConstraintIndex& index = {});

// How much such a pod prefers this node: the weights of the preferred terms that it meets, added
// up, as kube-scheduler 1.36 does.
std::int64_t preference(const Node& node, const NodeConstraints& constraints,
                        const ConstraintIndex& index = {});

}  // namespace nervex::kube
