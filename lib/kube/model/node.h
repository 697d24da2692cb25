// kube/model/node.h - a node as a place for pods, and may a pod run there?
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
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
  bool is_unreachable = false;  // status Unknown: the kubelet does not report
  SysTime ready_changed{};      // time of that change, by the writer's clock
  Resources allocatable;
  bool operator==(const Node&) const = default;
};

// Decodes one Node's JSON without a DOM. kInvalid if it is no object or lacks metadata.name.
Result<Node> decode_node(std::string_view json);

// The parts of a pod spec that decide which nodes are allowed, as the API writes them:
// nodeSelector, affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution, tolerations;
// and which are preferred: preferredDuringSchedulingIgnoredDuringExecution.
struct NodeConstraints {
  Json node_selector = Json::object();       // {key: value}
  Json node_selector_terms = Json::array();  // nodeSelectorTerms; ORed; empty: any node
  Json tolerations = Json::array();
  Json preferred_terms = Json::array();  // [{weight, preference}]
  // Not from the pod spec: nodeSelectorTerms of each bound volume; all must match.
  Json volume_terms = Json::array();
  bool operator==(const NodeConstraints&) const = default;
};
NodeConstraints decode_node_constraints(const Json& pod_spec);

// NodeConstraints as compact text, for what caches keep: users decide how large they are, and
// parsed ones take up to thirty times their text. A copy costs one counter, comparing at most a
// look at both texts.
class PackedConstraints {
 public:
  PackedConstraints() = default;                          // no constraints
  PackedConstraints(const NodeConstraints& constraints);  // NOLINT: implicit
  // Cost: parses the text, some microseconds for a few tolerations.
  NodeConstraints unpack() const;
  template <typename Change>
  void edit(Change change) {
    NodeConstraints constraints = unpack();
    change(constraints);
    *this = constraints;
  }
  bool empty() const { return text_.empty(); }
  // Equal constraints have equal texts.
  const std::string& text() const { return text_.str(); }
  friend bool operator==(const PackedConstraints& a, const PackedConstraints& b) {
    return a.hash_ == b.hash_ && a.text_ == b.text_;
  }

 private:
  SharedString text_;
  std::size_t hash_ = 0;  // of the text: unequal constraints may have long texts that differ late
};

// Constraints that are unpacked when they are first needed, and then at hand. Not thread-safe.
class UnpackedConstraints {
 public:
  UnpackedConstraints() = default;
  explicit UnpackedConstraints(PackedConstraints packed) : packed_(std::move(packed)) {}
  const PackedConstraints& packed() const { return packed_; }
  const NodeConstraints& get() {
    if (!unpacked_) unpacked_ = packed_.unpack();
    return *unpacked_;
  }

 private:
  PackedConstraints packed_;
  std::optional<NodeConstraints> unpacked_;
};

enum class NodeFit {
  kAllowed,
  kNotReady,
  kUnschedulable,
  kTainted,
  kNotSelected,
  kVolumeElsewhere,  // a bound volume cannot be used there
};

enum class Tolerance {
  kNone,
  kLimited,  // with tolerationSeconds: a taint with effect NoExecute evicts the pod after that time
  kFull,
};

// Speeds up judging many nodes by the same constraints, which may list thousands of values: looks
// values up instead of reading them for each node. Borrows the constraints; a default one is empty.
class ConstraintIndex {
 public:
  ConstraintIndex() = default;
  explicit ConstraintIndex(const NodeConstraints& constraints);

  bool lists(const Json& values, const std::string& value) const;
  // By the first toleration that matches the taint, as for Kubernetes' taint manager.
  Tolerance tolerance(const Json& tolerations, const Taint& taint) const;
  bool tolerates(const Json& tolerations, const Taint& taint) const {
    return tolerance(tolerations, taint) != Tolerance::kNone;
  }

 private:
  using Toleration = std::tuple<std::string, std::string, bool, std::string>;
  struct Match {
    std::size_t position = 0;
    Tolerance tolerance = Tolerance::kFull;
  };
  void add_term(const Json& term);
  void add_toleration(const Json& toleration);

  std::unordered_map<const Json*, std::unordered_set<std::string_view>> values_;
  // The first of equal ones, by effect, key, any value?, value.
  std::optional<std::map<Toleration, Match>> tolerations_;
};

// Whether a pod with these constraints may run on this node, ignoring capacity. Rules of
// kube-scheduler 1.36 (NodeUnschedulable, TaintToleration, NodeAffinity): In NotIn Exists
// DoesNotExist Gt Lt over labels, matchFields over metadata.name.
NodeFit judge(const Node& node, const NodeConstraints& constraints,
              const ConstraintIndex& index = {});

// The node meets the pod's own requirements: nodeSelector, affinity and volumes. The part of
// judge() that taints, cordons and outages do not change.
bool selects(const NodeConstraints& constraints, const Node& node,
             const ConstraintIndex& index = {});

// The node has a NoExecute taint that is tolerated for a limited time only: the pod would be
// evicted from it.
bool evicts(const Node& node, const NodeConstraints& constraints,
            const ConstraintIndex& index = {});

// Pods that may run on the node may still prefer others because of this taint: preference().
inline bool is_soft(const Taint& taint) {
  return taint.effect == "PreferNoSchedule" || taint.effect == "NoExecute";
}

// How much such a pod prefers this node, from the most to the least important:
//  - that it is not evicted from the node (evicts());
//  - the fewest untolerated taints with effect PreferNoSchedule;
//  - the sum of the weights of matching preferred terms, as in kube-scheduler 1.36.
// 0: neither preferred nor avoided.
std::int64_t preference(const Node& node, const NodeConstraints& constraints,
                        const ConstraintIndex& index = {});

}  // namespace nervex::kube
