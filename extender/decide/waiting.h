// extender/decide/waiting.h - may a gang that waits fit by now? Pure.
//
// A gang that did not fit does not fit any better before a node that it may use has gained
// capacity. So what it was refused with is remembered, and it is planned again when two things have
// come together: such a node has gained, and every shape of its pods has, taken alone, capacity for
// all of them. The second is a sum over the nodes that is kept up to date from the nodes that
// changed: where hundreds of gangs wait for GPUs, a pod that frees some cpu costs a few additions.
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
#include "kube/model/node.h"
#include "placement/capacity.h"
#include "placement/explain.h"

namespace nervex::extender {

// Whether a change of a node can make a difference to a plan. Heartbeats and conditions of others
// do not. Null: there is none.
bool matters(const std::shared_ptr<const kube::Node>& before,
             const std::shared_ptr<const kube::Node>& after);

// A node whose capacity changed, or which did itself, between two looks.
struct NodeChange {
  std::shared_ptr<const kube::Node> before;  // null: there was none; `after`, if that matters not
  std::shared_ptr<const kube::Node> after;
  // allocatable - occupying pods - all that is reserved, committed or not.
  kube::Resources spare_before;
  kube::Resources spare_after;
  // A pod is not nominated for it any more, and was not bound there: that is a gain which spare
  // capacity does not show.
  bool has_lost_nominated = false;

  // There is more of something than there was, or the node itself is another one.
  bool is_gain() const;
};

// A gang that got no node at all: with what, and why.
struct RefusedGang {
  std::vector<gang::MemberSet> sets;         // all of its slots
  std::vector<placement::NodeLimit> limits;  // that it had to obey
  placement::NoFit no_fit;
  SysTime at{};
};
using GangKey = std::pair<std::string, std::string>;  // PodGroup UID, gang
using RefusedGangs = std::map<GangKey, std::shared_ptr<const RefusedGang>>;

// Not thread-safe.
class WaitingGangs {
 public:
  // So many different shapes are summed up. A gang with another one is planned again after each
  // gain.
  static constexpr std::size_t kMostShapes = 256;

  // What changed since the last call. Cost: changes x shapes, and gangs.
  void note(const std::vector<NodeChange>& changes);
  // From now on these wait. Of a gang that is known what was noted since is kept; true if one is
  // new, and sum_up() is to be called. Until then it may fit whenever a node gains.
  bool replace(RefusedGangs&& refused);
  // `nodes` with the spare capacity that all changes noted so far have led to. Cost: nodes x shapes
  // that are new.
  void sum_up(const std::vector<placement::NodeView>& nodes);
  // Something that is not seen in nodes may have set capacity free: what was decided in the last
  // cycle was not stored.
  void gain_all();

  // Some gang may.
  bool any_may_fit() const;
  // Why that gang does not fit: it has these slots and limits still, and nothing speaks for it.
  // Null: it has to be planned, or the numbers in the reason are old.
  std::shared_ptr<const RefusedGang> still_refused(const GangKey& gang,
                                                   const std::vector<gang::MemberSet>& sets,
                                                   const std::vector<placement::NodeLimit>& limits,
                                                   SysTime now) const;
  // When the first of the reasons whose numbers may have changed gets old.
  std::optional<SysTime> first_refresh() const;
  bool empty() const { return gangs_.empty(); }
  std::size_t size() const { return gangs_.size(); }

 private:
  struct Shape {
    gang::PodShape shape;
    bool by_domain = false;  // of pods that keep apart by more than the node
    std::int64_t total = 0;  // pods that fit, each node for itself
    bool is_summed = false;
    bool has_gained = false;  // during note()
    std::size_t gangs = 0;    // that have it
  };
  struct Waiting {
    std::shared_ptr<const RefusedGang> refused;
    std::map<std::size_t, std::int64_t> wanted;  // by shape
    bool is_untracked = false;                   // has a shape more than are summed up
    bool has_gained = false;                     // a node that it may use
    bool has_changed = false;                    // any node
    bool has_other_node = false;                 // a node came, went or is another one
  };
  bool may_fit(const Waiting& gang) const;
  Waiting start(std::shared_ptr<const RefusedGang> refused);
  void drop(const Waiting& gang);
  std::optional<std::size_t> shape_of(const gang::PodShape& shape);

  std::vector<Shape> shapes_;
  std::map<GangKey, Waiting> gangs_;
};

// How old the numbers in the reason of a gang that waits may get.
inline constexpr std::chrono::milliseconds kRefusalRefreshPeriod{60'000};

}  // namespace nervex::extender
