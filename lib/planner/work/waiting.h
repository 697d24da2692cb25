// planner/work/waiting.h - may a waiting gang fit by now? Pure.
//
// A refused gang cannot fit until a node that it may use gains capacity. So the refused request is
// kept, and the gang is planned again when two things are true: such a node has gained, and every
// shape of its pods, taken alone, has capacity for all of them. The second is a sum over the nodes,
// updated from the nodes that changed: where hundreds of gangs wait for GPUs, a pod that frees some
// cpu costs a few additions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gang/no_fit.h"
#include "gang/objects.h"
#include "kube/model/objects.h"
#include "placement/capacity.h"
#include "placement/domain_terms.h"

namespace nervex::planner {

// Whether a change of a node can affect a plan. Heartbeats and changes of other conditions do not.
// Null: no node.
bool matters(const kube::NodePtr& before, const kube::NodePtr& after);

// A node that changed, itself or in capacity, between two looks.
struct NodeChange {
  kube::NodePtr before;  // null: no previous node; `after`: only its capacity has changed
  kube::NodePtr after;
  // allocatable - occupying pods - all that is reserved, committed or not.
  kube::Resources spare_before;
  kube::Resources spare_after;
  // A nominated pod was withdrawn without being bound there: a gain that spare capacity does not
  // show.
  bool has_lost_nominated = false;

  // More of some resource is free, or the node itself has changed.
  bool is_gain() const;
  // More or fewer pods are there that topology spread constraints count.
  bool has_other_count() const;
};

// A reservation that keeps a gang off some of the capacity.
struct ReservedBy {
  std::string pod_group_uid;
  std::string gang;
  SysTime since{};
  std::optional<SysTime> due{};
  bool operator==(const ReservedBy&) const = default;
};

// The request and the reason of a gang that got no node at all.
struct RefusedGang {
  std::vector<gang::MemberSet> sets;         // all of its slots
  std::vector<placement::NodeLimit> limits;  // that the plan had to obey
  gang::NoFit no_fit;
  SysTime at{};
  std::vector<placement::GroupLimit> group_limits{};  // the same
  std::vector<ReservedBy> reserved_by{};              // with one more or less it is planned again
  placement::DomainFacts domains{};                   // that the plan had to join
};
using GangKey = std::pair<std::string, std::string>;  // PodGroup UID, gang
using RefusedGangs = std::map<GangKey, std::shared_ptr<const RefusedGang>>;

// By how many pods of each shape the total has become smaller. Of one WaitingGangs, and until its
// next change. Empty: none.
using TakenPods = std::vector<std::int64_t>;

// Not thread-safe.
class WaitingGangs {
 public:
  // Number of different shapes that are summed up. A gang with any other shape is planned again
  // after each gain.
  static constexpr std::size_t kMostShapes = 256;

  // Records changes since the last call. Cost: changes x shapes, and gangs.
  void note(const std::vector<NodeChange>& changes);
  // Sets the waiting gangs. A known gang keeps what was noted since.
  void replace(RefusedGangs&& refused);
  // A gang has a new shape: call sum_up(). Until then it may fit whenever a node gains.
  bool has_new_shapes() const;
  // `nodes` have the spare capacity after all changes noted so far. Cost: nodes x new shapes.
  void sum_up(const std::vector<placement::NodeView>& nodes);
  // Capacity may have been freed without a node change: a decision of the last cycle was not
  // stored.
  void gain_all();

  // At least one gang may fit.
  bool any_may_fit() const;
  // Why that gang does not fit, if it still has these slots and limits and no gain helps it. Null:
  // plan it, or the numbers in the reason are old. `taken`: what was placed since the last change.
  std::shared_ptr<const RefusedGang> still_refused(
      const GangKey& gang, const std::vector<gang::MemberSet>& sets,
      const std::vector<placement::NodeLimit>& limits, SysTime now,
      const std::vector<placement::GroupLimit>& group_limits = {}, const TakenPods& taken = {},
      const std::vector<ReservedBy>& reserved_by = {}) const;
  // Adds that a node with `spare` gives up `used` of it. Cost: shapes.
  void take(const kube::Node& node, const kube::Resources& spare, const kube::Resources& used,
            TakenPods& taken) const;
  // When the first reason with possibly changed numbers gets old (refresh_period()).
  std::optional<SysTime> first_refresh() const;
  bool empty() const { return gangs_.empty(); }
  std::size_t size() const { return gangs_.size(); }

 private:
  struct Shape {
    gang::PodShape shape;
    bool by_domain = false;  // its pods keep apart or are spread by domain, not only by node
    std::int64_t total = 0;  // pods that fit, summed over single nodes
    bool is_summed = false;
    bool has_gained = false;  // during note()
    std::size_t gangs = 0;    // gangs with this shape
  };
  struct Waiting {
    std::shared_ptr<const RefusedGang> refused;
    std::map<std::size_t, std::int64_t> wanted;  // by shape
    bool is_untracked = false;                   // has a shape that is not summed up
    bool has_gained = false;                     // on a node that it may use
    bool has_changed = false;                    // on any node
    bool has_other_node = false;                 // a node was added, deleted or changed
  };
  bool may_fit(const Waiting& gang, const TakenPods& taken = {}) const;
  Waiting start(std::shared_ptr<const RefusedGang> refused);
  void drop(const Waiting& gang);
  std::optional<std::size_t> find_shape(const gang::PodShape& shape);

  std::vector<Shape> shapes_;
  std::map<GangKey, Waiting> gangs_;
};

}  // namespace nervex::planner
